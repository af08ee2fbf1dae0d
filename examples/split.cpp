// A 2 x 3 grid of threads: sums along rows and along columns with sub-teams made by colour and key.
#include <fermata/fermata.hpp>

#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

int main() {
  constexpr int kRows = 2;
  constexpr int kColumns = 3;
  fermata::Team team(kRows * kColumns);
  std::atomic<int> wrong{0};
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < kRows * kColumns; ++rank)
    threads.emplace_back([&team, &wrong, rank] {
      const int row = rank / kColumns;
      const int column = rank % kColumns;
      fermata::Member all = team.join(rank);
      fermata::Member along_row = all.split(row, column).value();
      fermata::Member along_column = all.split(column, row).value();
      const int row_sum = along_row.allreduce(rank, fermata::Op::kSum);
      const int column_sum = along_column.allreduce(rank, fermata::Op::kSum);
      // 0 1 2 | 3 4 5: rows add up to 3 and 12, columns to 3, 5 and 7.
      if (row_sum != 3 + 9 * row || column_sum != 3 + 2 * column)
        wrong.fetch_add(1, std::memory_order_relaxed);
      // A colour below 0 means no sub-team; all members of the team still make the call.
      const bool odd = rank % 2 == 1;
      const auto odds = all.split(odd ? 1 : -1, -rank);  // a descending key reverses the order
      if (odds.has_value() != odd) wrong.fetch_add(1, std::memory_order_relaxed);
      if (odd && odds->rank() != (5 - rank) / 2) wrong.fetch_add(1, std::memory_order_relaxed);
      all.barrier();
      if (rank == 0) std::printf("row 0 adds up to %d, column 0 to %d\n", row_sum, column_sum);
    });
  threads.clear();
  return wrong.load(std::memory_order_relaxed) == 0 ? 0 : 1;
}
