/* Only assertions, on what a program compiled against this header relies on. A change that breaks a line here
 * makes a new ABI. C99 has no static assertion, hence the array of negative size. */
#include <fermata/fermata.h>

#include <stddef.h>

#define CHECK_JOIN(a, b) a##b
#define CHECK_AT(condition, line) typedef char CHECK_JOIN(check_line_, line)[(condition) ? 1 : -1]
#define CHECK(condition) CHECK_AT(condition, __LINE__)

/* Offsets are for LP64: Fermata runs on nothing else. */
CHECK(sizeof(void*) == 8 && sizeof(size_t) == 8 && sizeof(int) == 4);

CHECK(FERMATA_OK == 0);
CHECK(FERMATA_PENDING == 1);
CHECK(FERMATA_ERR_ARGUMENT == -1);
CHECK(FERMATA_ERR_MEMORY == -2);
CHECK(FERMATA_ERR_SYSTEM == -3);
CHECK(FERMATA_ERR_TIMEOUT == -4);
CHECK(FERMATA_ERR_MEMBER_LOST == -5);
CHECK(FERMATA_ERR_MISMATCH == -6);
CHECK(FERMATA_ERR_BROKEN == -7);
CHECK(FERMATA_ERR_PARSE == -8);
CHECK(FERMATA_ERR_UNSUPPORTED == -9);
CHECK(FERMATA_ERR_FORKED == -10);
CHECK(FERMATA_ERR_BUSY == -11);
CHECK(FERMATA_ERR_INTERRUPTED == -12);
CHECK(FERMATA_ERR_VERIFY == -13);
CHECK(FERMATA_ERR_NOT_FOUND == -14);

CHECK(FERMATA_BARRIER == 0);
CHECK(FERMATA_BROADCAST == 1);
CHECK(FERMATA_REDUCE == 2);
CHECK(FERMATA_ALLREDUCE == 3);
CHECK(FERMATA_THREADS == 0);
CHECK(FERMATA_PROCESSES == 1);
CHECK(FERMATA_WAIT_AUTO == 0);
CHECK(FERMATA_WAIT_SPIN == 1);
CHECK(FERMATA_WAIT_YIELD == 2);
CHECK(FERMATA_WAIT_PARK == 3);
CHECK(FERMATA_INT32 == 0);
CHECK(FERMATA_INT64 == 1);
CHECK(FERMATA_UINT32 == 2);
CHECK(FERMATA_UINT64 == 3);
CHECK(FERMATA_FLOAT == 4);
CHECK(FERMATA_DOUBLE == 5);
CHECK(FERMATA_INT8 == 6);
CHECK(FERMATA_UINT8 == 7);
CHECK(FERMATA_INT16 == 8);
CHECK(FERMATA_UINT16 == 9);
CHECK(FERMATA_HALF == 10);
CHECK(FERMATA_BFLOAT16 == 11);
CHECK(FERMATA_FLOAT_INT == 12);
CHECK(FERMATA_DOUBLE_INT == 13);
CHECK(FERMATA_INT32_INT == 14);
CHECK(FERMATA_INT64_INT == 15);
CHECK(FERMATA_INT16_INT == 16);
CHECK(sizeof(fermata_float_int) == 8 && offsetof(fermata_float_int, index) == 4);
CHECK(sizeof(fermata_double_int) == 16 && offsetof(fermata_double_int, index) == 8);
CHECK(sizeof(fermata_int32_int) == 8 && offsetof(fermata_int32_int, index) == 4);
CHECK(sizeof(fermata_int64_int) == 16 && offsetof(fermata_int64_int, index) == 8);
CHECK(sizeof(fermata_int16_int) == 8 && offsetof(fermata_int16_int, index) == 4);
CHECK(FERMATA_SUM == 0);
CHECK(FERMATA_PROD == 1);
CHECK(FERMATA_MIN == 2);
CHECK(FERMATA_MAX == 3);
CHECK(FERMATA_AND == 4);
CHECK(FERMATA_OR == 5);
CHECK(FERMATA_XOR == 6);
CHECK(FERMATA_LAND == 7);
CHECK(FERMATA_LOR == 8);
CHECK(FERMATA_MINLOC == 9);
CHECK(FERMATA_MAXLOC == 10);
CHECK(FERMATA_MAX_PAYLOAD == 56);

CHECK(offsetof(fermata_plan_request, size) == 0);
CHECK(offsetof(fermata_plan_request, members) == 8);
CHECK(offsetof(fermata_plan_request, collective) == 12);
CHECK(offsetof(fermata_plan_request, engine) == 16);
CHECK(offsetof(fermata_plan_request, payload) == 24);
CHECK(offsetof(fermata_plan_request, cpus) == 32);
CHECK(offsetof(fermata_plan_request, algorithm) == 40);
CHECK(offsetof(fermata_plan_request, layout) == 48);
CHECK(offsetof(fermata_plan_request, topology) == 56);
CHECK(offsetof(fermata_plan_request, profile) == 64);
CHECK(sizeof(fermata_plan_request) == 72);

CHECK(offsetof(fermata_team_config, size) == 0);
CHECK(offsetof(fermata_team_config, members) == 8);
CHECK(offsetof(fermata_team_config, engine) == 12);
CHECK(offsetof(fermata_team_config, wait) == 16);
CHECK(offsetof(fermata_team_config, tagged) == 20);
CHECK(offsetof(fermata_team_config, cpus) == 24);
CHECK(offsetof(fermata_team_config, plans) == 32);
CHECK(offsetof(fermata_team_config, plan_count) == 40);
CHECK(offsetof(fermata_team_config, stall_seconds) == 48);
CHECK(offsetof(fermata_team_config, refresh_seconds) == 56);
CHECK(sizeof(fermata_team_config) == 64);

CHECK(offsetof(fermata_operation, size) == 0);
CHECK(offsetof(fermata_operation, collective) == 8);
CHECK(offsetof(fermata_operation, in) == 16);
CHECK(offsetof(fermata_operation, out) == 24);
CHECK(offsetof(fermata_operation, count) == 32);
CHECK(offsetof(fermata_operation, type) == 40);
CHECK(offsetof(fermata_operation, op) == 44);
CHECK(offsetof(fermata_operation, root) == 48);
CHECK(offsetof(fermata_operation, irregular) == 52);
CHECK(offsetof(fermata_operation, in_counts) == 56);
CHECK(offsetof(fermata_operation, in_displacements) == 64);
CHECK(offsetof(fermata_operation, out_counts) == 72);
CHECK(offsetof(fermata_operation, out_displacements) == 80);
CHECK(offsetof(fermata_operation, element) == 88);
CHECK(offsetof(fermata_operation, fold) == 96);
CHECK(offsetof(fermata_operation, user) == 104);
CHECK(offsetof(fermata_operation, ordered) == 112);
CHECK(sizeof(fermata_operation) == 120);

int main(void) {
  /* The initialisers set the size that Fermata checks. */
  const fermata_plan_request request = FERMATA_PLAN_REQUEST_INIT;
  const fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  const fermata_operation operation = FERMATA_OPERATION_INIT;
  return request.size == sizeof request && config.size == sizeof config && operation.size == sizeof operation
             ? 0
             : 1;
}
