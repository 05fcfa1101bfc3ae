"""HA9xx: what was never given back. (The machine reports no leaks yet.)"""
