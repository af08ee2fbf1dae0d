// Finds the run-time library that a calling object's entry points belong to. The loader finds the wrapped
// names in this library first. So the search that it would do without this library is repeated here:
// 1. What the loader has bound tells it: the object's imports that are not wrapped, e.g. omp_get_thread_num.
// 2. Else (lazy binding, or no other imports) the order of the search tells it: first the global objects,
//    then the objects that the caller needs.
#include "scope.hpp"

#include <dlfcn.h>

#include "objects.hpp"

namespace fermata::preload {
namespace {

constexpr const char* kImports[] = {"GOMP_", "omp_", "__kmpc_", "kmp_"};

bool is_openmp(const char* name) { return begins_with_any(name, kImports); }

// The global definitions at the process's start, of a function that each library of the family has and nobody
// wraps. Libraries that become global later come after them.
constexpr const char* kOwn[kFamilies] = {"GOMP_critical_start", "__kmpc_critical"};
const void* global[kFamilies];

__attribute__((constructor)) void find_global() {
  for (int family = 0; family < kFamilies; ++family) global[family] = dlsym(RTLD_NEXT, kOwn[family]);
}

void take(Search& s, const Object& object) {
  s.run_time = read_run_time(object);
  s.found = true;
}

// The run-time library that `address` is in.
void take_at(Search& s, const void* address) {
  for_each_loaded([&](const dl_phdr_info& info) {
    const Object object(info);
    if (!object.contains(address)) return false;
    if (is_run_time(object, s.family)) take(s, object);
    return true;
  });
}

void take_only_or_first(Search& s, bool first) {
  s.candidates = 0;
  for_each_loaded([&](const dl_phdr_info& info) {
    s.candidates += is_run_time(Object(info), s.family) ? 1 : 0;
    return false;
  });
  if (s.candidates == 0 || (s.candidates > 1 && !first)) return;
  for_each_loaded([&](const dl_phdr_info& info) {
    if (const Object object(info); is_run_time(object, s.family)) take(s, object);
    return s.found;
  });
}

}  // namespace

void look_at_caller(Search& s) {
  for_each_loaded([&](const dl_phdr_info& info) {
    const Object object(info);
    if (!object.contains(s.address)) return false;
    s.in_object = true;
    s.low = object.low();
    s.span = object.span();
    if (is_run_time(object, s.family)) {
      s.imports = true;
      take(s, object);
      return true;
    }
    object.any_import([&](const char* name, void* const* slot) {
      if (!is_openmp(name)) return false;
      s.imports = true;
      // order: none: the loader writes whole words, and one that is not bound yet points into the object
      // itself
      const void* bound = *static_cast<void* const volatile*>(slot);
      if (!object.contains(bound)) take_at(s, bound);
      return s.found;
    });
    return true;
  });
}

namespace {

// ---- The closure of DT_NEEDED. An object's number is its place in the loader's order. All of it happens in
// one callback, so numbers do not change.

constexpr int kObjects = 8192;  // further objects are not searched

struct Marks {
  std::uint64_t bits[kObjects / 64] = {};
  bool has(int i) const { return i < kObjects && (bits[i / 64] >> i % 64 & 1) != 0; }
  void add(int i) {
    if (i < kObjects) bits[i / 64] |= std::uint64_t{1} << i % 64;
  }
};

// The first object that is loaded under this name; -1: none is.
int number_of(const char* name) {
  int number = -1, i = 0;
  for_each_loaded([&](const dl_phdr_info& info) {
    if (Object(info).is_named(name)) number = i;
    ++i;
    return number >= 0;
  });
  return number;
}

// Breadth first, as the loader searches.
void take_nearest(Search& s, Marks& reached) {
  Marks level = reached;
  for (bool more = true; more && !s.found;) {
    more = false;
    Marks next;
    int i = 0;
    for_each_loaded([&](const dl_phdr_info& info) {
      if (!level.has(i++)) return false;
      const Object object(info);
      if (is_run_time(object, s.family)) take(s, object);
      object.for_each_needed([&](const char* name) {
        const int needed = number_of(name);
        if (needed < 0 || reached.has(needed)) return;
        reached.add(needed);
        next.add(needed);
        more = true;
      });
      return s.found;
    });
    level = next;
  }
}

// Adds the objects that need a marked one, directly or indirectly.
void add_users(Marks& marks) {
  for (bool more = true; more;) {
    more = false;
    int i = -1;
    for_each_loaded([&](const dl_phdr_info& user) {
      ++i;
      if (marks.has(i) || i >= kObjects) return false;
      Object(user).for_each_needed([&](const char* name) {
        int k = 0;
        for_each_loaded([&](const dl_phdr_info& info) {
          if (marks.has(k++) && Object(info).is_named(name)) marks.add(i);
          return marks.has(i);
        });
      });
      more |= marks.has(i);
      return false;
    });
  }
}

// Searches the objects that the caller needs, and then those that its users need: it was opened with them.
void look_at_needed(Search& s) {
  for_each_loaded([&](const dl_phdr_info&) {
    Marks caller;
    int i = 0;
    for_each_loaded([&](const dl_phdr_info& info) {
      if (Object(info).contains(s.address)) caller.add(i);
      ++i;
      return false;
    });
    Marks reached = caller;
    take_nearest(s, reached);
    if (s.found) return true;
    add_users(caller);
    take_nearest(s, caller);
    return true;
  });
}

}  // namespace

// Must run outside of any callback: dlsym takes the loader's lock, under which the loader takes the lock of
// dl_iterate_phdr.
void look_at_rest(Search& s) {
  const int family = static_cast<int>(s.family);
  if (global[family] != nullptr) take_at(s, global[family]);
  if (!s.found) take_only_or_first(s, false);
  if (s.found || s.candidates == 0) return;
  if (const void* next = dlsym(RTLD_NEXT, kOwn[family]); next != nullptr) take_at(s, next);
  if (!s.found && s.imports) look_at_needed(s);
  if (!s.found) take_only_or_first(s, true);
}

}  // namespace fermata::preload
