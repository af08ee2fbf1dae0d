/* A program with an OMPT tool. The tool must see every barrier and its caller. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <omp-tools.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>

static int barriers, regions, sides;
static const void *region_at, *barrier_at;

static void on_sync(ompt_sync_region_t kind, ompt_scope_endpoint_t end, ompt_data_t* region,
                    ompt_data_t* task, const void* code) {
  (void)region, (void)task;
  if (end != ompt_scope_begin || kind != ompt_sync_region_barrier_explicit) return;
  __atomic_fetch_add(&barriers, 1, __ATOMIC_RELAXED);
  __atomic_store_n(&barrier_at, code, __ATOMIC_RELAXED);
}

static void on_region(ompt_data_t* task, const ompt_frame_t* frame, ompt_data_t* region, unsigned threads,
                      int flags, const void* code) {
  (void)task, (void)region, (void)threads, (void)flags;
  int here;
  sides +=
      (char*)frame->enter_frame.ptr > (char*)&here; /* the stack grows down: the program's frame is above */
  ++regions;
  region_at = code;
}

static int initialize(ompt_function_lookup_t lookup, int device, ompt_data_t* data) {
  (void)device, (void)data;
  ompt_set_callback_t set = (ompt_set_callback_t)lookup("ompt_set_callback");
  set(ompt_callback_sync_region, (ompt_callback_t)on_sync);
  set(ompt_callback_parallel_begin, (ompt_callback_t)on_region);
  return 1;
}

static void finalize(ompt_data_t* data) { (void)data; }

ompt_start_tool_result_t* ompt_start_tool(unsigned version, const char* library) {
  (void)version, (void)library;
  static ompt_start_tool_result_t result = {initialize, finalize, {0}};
  return &result;
}

static const char* file_of(const void* code) {
  Dl_info info = {0};
  if (dladdr((void*)code, &info) == 0) return "nothing";
  const char* slash = strrchr(info.dli_fname, '/');
  return slash != NULL ? slash + 1 : info.dli_fname;
}

int main(void) {
#pragma omp parallel num_threads(2)
  for (int i = 0; i < 4; ++i) {
#pragma omp barrier
  }
  printf("%d barriers called from %s, %d regions called from %s, %d frames\n", barriers, file_of(barrier_at),
         regions, file_of(region_at), sides);
  return barriers == 0;
}
