// Finds the library that a shim replaces, even if both have the same name.
//
// Thread safety: called once, when the shim is loaded. It does not allocate.
#pragma once

namespace yardmaster::shim {

// Returns a dlopen handle of the first of these that can be loaded and is not this library;
// nullptr: none:
//
//   - the absolute path in the environment variable `variable` (a relative one is ignored);
//   - the entries for `name` in the loader's cache (/etc/ld.so.cache);
//   - `name` in the system's library folders.
//
// `flags`: of dlopen. `path` receives the path, truncated to `path_size` - 1 characters, or "".
void* OpenReal(const char* name, const char* variable, int flags, char* path, unsigned path_size);

// Whether the file name of this shim begins with `name`.
bool LoadedAs(const char* name);

// Calls `visit` with the paths that a loader's cache lists for the library `name`, until it returns
// true. Used by OpenReal. `cache` may be any `size` bytes; nothing beyond them is read.
void ForEachCached(const char* cache, unsigned long size, const char* name,
                   bool (*visit)(const char* path, void* argument), void* argument);

}  // namespace yardmaster::shim
