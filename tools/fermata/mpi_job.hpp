// The MPI job that started this tool.
#ifndef FERMATA_TOOLS_MPI_JOB_HPP
#define FERMATA_TOOLS_MPI_JOB_HPP

#include <fermata/job.h>

#include <string>

#include "profile/job.hpp"

namespace fermata::tool {

// The MPI whose launcher started this process, by the variables that the launcher sets: openmpi, or mpich,
// also for its relatives; empty: none that is known.
std::string launched_by();

// Joins the job through libfermata-net-openmpi or -mpich, which library_beside() finds (commands.hpp). The
// destructor leaves the job. The constructor throws CommandError, also if no known launcher started the tool.
class MpiJob {
 public:
  MpiJob();
  ~MpiJob();
  MpiJob(const MpiJob&) = delete;
  MpiJob& operator=(const MpiJob&) = delete;
  const Job& job() const { return job_; }

 private:
  fermata_job table_{};
  Job job_;
};

}  // namespace fermata::tool
#endif
