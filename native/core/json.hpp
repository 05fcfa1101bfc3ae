// A small JSON reader for acl.json.
#pragma once

#include <map>
#include <string>
#include <variant>
#include <vector>

namespace hostacl {

struct Json {
    using Object = std::map<std::string, Json>;
    using Array = std::vector<Json>;
    std::variant<std::nullptr_t, bool, double, std::string, Array, Object> value = nullptr;

    const Object* object() const { return std::get_if<Object>(&value); }
    const Json* find(const std::string& key) const; // null: not an object, or no such key
    std::string text() const; // of a string as it is, of a number or bool as JSON writes it; "" for the rest
};

// Reads a whole text; `wrong` gets "line 3: ..." and the answer is false when it is malformed or nested deeper than `depth`.
bool read_json(const std::string& text, int depth, Json* result, std::string* wrong);

} // namespace hostacl
