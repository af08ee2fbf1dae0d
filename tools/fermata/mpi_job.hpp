// The MPI job that this tool was started in.
#ifndef FERMATA_TOOLS_MPI_JOB_HPP
#define FERMATA_TOOLS_MPI_JOB_HPP

#include <memory>
#include <string>

#include "profile/job.hpp"

namespace fermata::tool {

// Whose launcher has started this process: openmpi, mpich; empty: none that is known.
std::string launched_by();

// Joins the job by libfermata-net-<launcher's>, which lies beside this tool; leaves it at the end. Throws
// CommandError.
class MpiJob {
 public:
  MpiJob();
  ~MpiJob();
  MpiJob(const MpiJob&) = delete;
  MpiJob& operator=(const MpiJob&) = delete;
  const Job& job() const { return job_; }

 private:
  struct Table;
  std::unique_ptr<Table> table_;
  Job job_;
};

}  // namespace fermata::tool
#endif
