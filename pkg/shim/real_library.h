// Finds the library that a shim stands before, when both may have the same name.
//
// Thread safety: called once, when the shim is loaded. No allocation of its own.
#pragma once

namespace yardmaster::shim {

// A handle of dlopen on the first of these that can be loaded and is not this library: the absolute
// path in the environment variable `variable`, what the loader's cache (/etc/ld.so.cache) lists for
// `name`, `name` in the system's library folders. A relative path in the variable is ignored.
// nullptr: there is none. `path` receives where it was found, cut to `path_size` - 1 characters, or
// "". Flags are dlopen's.
void* OpenReal(const char* name, const char* variable, int flags, char* path, unsigned path_size);

// Whether this shim was loaded under a file name that begins with `name`.
bool LoadedAs(const char* name);

// Calls `visit` with the paths that a loader's cache lists for the library `name`, until it returns
// true; used by OpenReal.
// The cache is `size` bytes of any kind; nothing beyond them is read.
void ForEachCached(const char* cache, unsigned long size, const char* name,
                   bool (*visit)(const char* path, void* argument), void* argument);

}  // namespace yardmaster::shim
