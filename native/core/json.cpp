#include "core/json.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace hostacl {
namespace {

class Reader {
  public:
    Reader(const std::string& text, int depth, std::string* wrong) : text_(text), depth_(depth), wrong_(wrong) {}

    bool whole(Json* result) {
        if (!read(result, 0)) return false;
        skip_space();
        return at_ == text_.size() || stop("something stands behind the end of the value");
    }

  private:
    bool stop(const std::string& what) {
        if (wrong_->empty()) {
            auto line = 1 + std::count(text_.begin(),
                                       text_.begin() + static_cast<std::ptrdiff_t>(std::min(at_, text_.size())), '\n');
            *wrong_ = "line " + std::to_string(line) + ": " + what;
        }
        return false;
    }

    void skip_space() {
        while (at_ < text_.size() && std::strchr(" \t\r\n", text_[at_])) at_++;
    }

    bool next_is(char letter) {
        skip_space();
        if (at_ >= text_.size() || text_[at_] != letter) return false;
        at_++;
        return true;
    }

    bool read(Json* result, int level) {
        skip_space();
        if (at_ >= text_.size()) return stop("the text ends where a value must stand");
        char letter = text_[at_];
        if (letter == '{' || letter == '[') {
            if (level >= depth_) return stop("nested deeper than " + std::to_string(depth_) + " levels");
            at_++;
            return letter == '{' ? read_object(result, level) : read_array(result, level);
        }
        if (letter == '"') {
            std::string text;
            if (!read_string(&text)) return false;
            result->value = std::move(text);
            return true;
        }
        return read_word(result);
    }

    bool read_object(Json* result, int level) {
        Json::Object object;
        if (!next_is('}')) {
            do {
                std::string key;
                skip_space();
                if (at_ >= text_.size() || text_[at_] != '"') return stop("a key in double quotes must stand here");
                if (!read_string(&key)) return false;
                if (!next_is(':')) return stop("a colon must follow the key \"" + key + "\"");
                if (!read(&object[key], level + 1)) return false;
            } while (next_is(','));
            if (!next_is('}')) return stop("a comma or } must stand here");
        }
        result->value = std::move(object);
        return true;
    }

    bool read_array(Json* result, int level) {
        Json::Array array;
        if (!next_is(']')) {
            do {
                array.emplace_back();
                if (!read(&array.back(), level + 1)) return false;
            } while (next_is(','));
            if (!next_is(']')) return stop("a comma or ] must stand here");
        }
        result->value = std::move(array);
        return true;
    }

    bool read_string(std::string* result) {
        for (at_++; at_ < text_.size() && text_[at_] != '"'; at_++) {
            char letter = text_[at_];
            if (static_cast<unsigned char>(letter) < 0x20) return stop("a control character stands in a string");
            if (letter != '\\') {
                *result += letter;
            } else if (!read_escape(result)) {
                return false;
            }
        }
        if (at_ >= text_.size()) return stop("a string has no end");
        at_++;
        return true;
    }

    bool read_escape(std::string* result) {
        static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
        if (++at_ >= text_.size()) return stop("a string has no end");
        if (const char* known = std::strchr(letters, text_[at_]); known && *known) {
            *result += meanings[known - letters];
            return true;
        }
        unsigned code = 0;
        int used = 0;
        if (text_[at_] != 'u' || at_ + 4 >= text_.size() ||
            std::sscanf(text_.c_str() + at_ + 1, "%4x%n", &code, &used) != 1 || used != 4)
            return stop("an unknown escape stands in a string");
        at_ += 4;
        append_utf8(result, code);
        return true;
    }

    static void append_utf8(std::string* result, unsigned code) {
        if (code < 0x80) {
            *result += static_cast<char>(code);
        } else if (code < 0x800) {
            *result += static_cast<char>(0xC0 | (code >> 6));
            *result += static_cast<char>(0x80 | (code & 0x3F));
        } else {
            *result += static_cast<char>(0xE0 | (code >> 12));
            *result += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
            *result += static_cast<char>(0x80 | (code & 0x3F));
        }
    }

    bool read_word(Json* result) {
        size_t end = at_;
        while (end < text_.size() &&
               (std::isalnum(static_cast<unsigned char>(text_[end])) || std::strchr("+-.", text_[end])))
            end++;
        std::string word = text_.substr(at_, end - at_);
        char* stopped = nullptr;
        double number = std::strtod(word.c_str(), &stopped);
        if (word == "true" || word == "false") result->value = word == "true";
        else if (word == "null") result->value = nullptr;
        else if (!word.empty() && *stopped == 0 &&
                 (std::isdigit(static_cast<unsigned char>(word[0])) || word[0] == '-'))
            result->value = number;
        else return stop("no JSON value: \"" + (word.empty() ? text_.substr(at_, 1) : word) + "\"");
        at_ = end;
        return true;
    }

    const std::string& text_;
    int depth_;
    std::string* wrong_;
    size_t at_ = 0;
};

} // namespace

const Json* Json::find(const std::string& key) const {
    const Object* here = object();
    if (!here) return nullptr;
    auto found = here->find(key);
    return found == here->end() ? nullptr : &found->second;
}

std::string Json::text() const {
    if (auto* string = std::get_if<std::string>(&value)) return *string;
    if (auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
    if (auto* number = std::get_if<double>(&value)) {
        char buffer[40];
        std::snprintf(buffer, sizeof buffer, "%.15g", *number);
        return buffer;
    }
    return "";
}

bool read_json(const std::string& text, int depth, Json* result, std::string* wrong) {
    return Reader(text, depth, wrong).whole(result);
}

} // namespace hostacl
