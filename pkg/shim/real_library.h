// Finds the library that a shim stands before, when both may have the same name.
//
// Thread safety: called once, when the shim is loaded. No allocation of its own.
#pragma once

namespace yardmaster::shim {

// A handle of dlopen on the first library called `name` that is not this one: the absolute path in
// the environment variable `variable`, what the loader's cache (/etc/ld.so.cache) lists, the system's
// library folders. A relative path in the variable is ignored. nullptr: there is none. `path`
// receives where it was found. Flags are dlopen's.
void* OpenReal(const char* name, const char* variable, int flags, char* path, unsigned path_size);

// Whether this shim was loaded under a file name that begins with `name`.
bool LoadedAs(const char* name);

// Calls `visit` with every path that a loader's cache lists for the library `name`; used by OpenReal.
// The cache is `size` bytes of any kind; nothing beyond them is read.
void ForEachCached(const char* cache, unsigned long size, const char* name,
                   bool (*visit)(const char* path, void* argument), void* argument);

}  // namespace yardmaster::shim
