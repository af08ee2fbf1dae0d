// As beside.cpp, for files.
#include "begun.hpp"
#include "real.hpp"

using namespace fermata::preload;

FERMATA_MPI_FILES(FERMATA_INTERCEPT)

extern "C" {

FERMATA_BESIDE(File_open, (MPI_Comm comm, const char* filename, int amode, MPI_Info info, MPI_File* fh),
               (comm, filename, amode, info, fh))
FERMATA_BESIDE(File_close, (MPI_File * fh), (fh))
FERMATA_BESIDE(File_set_size, (MPI_File fh, MPI_Offset size), (fh, size))
FERMATA_BESIDE(File_preallocate, (MPI_File fh, MPI_Offset size), (fh, size))
FERMATA_BESIDE(File_set_view,
               (MPI_File fh, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype, const char* datarep,
                MPI_Info info),
               (fh, disp, etype, filetype, datarep, info))
FERMATA_BESIDE(File_set_info, (MPI_File fh, MPI_Info info), (fh, info))
FERMATA_BESIDE(File_set_atomicity, (MPI_File fh, int flag), (fh, flag))
FERMATA_BESIDE(File_sync, (MPI_File fh), (fh))
FERMATA_BESIDE(File_seek_shared, (MPI_File fh, MPI_Offset offset, int whence), (fh, offset, whence))
FERMATA_BESIDE(File_get_position_shared, (MPI_File fh, MPI_Offset* offset), (fh, offset))
FERMATA_BESIDE(File_read_at_all,
               (MPI_File fh, MPI_Offset offset, void* buf, int count, MPI_Datatype datatype,
                MPI_Status* status),
               (fh, offset, buf, count, datatype, status))
FERMATA_BESIDE(File_write_at_all,
               (MPI_File fh, MPI_Offset offset, const void* buf, int count, MPI_Datatype datatype,
                MPI_Status* status),
               (fh, offset, buf, count, datatype, status))
FERMATA_BESIDE(File_read_all, (MPI_File fh, void* buf, int count, MPI_Datatype datatype, MPI_Status* status),
               (fh, buf, count, datatype, status))
FERMATA_BESIDE(File_write_all,
               (MPI_File fh, const void* buf, int count, MPI_Datatype datatype, MPI_Status* status),
               (fh, buf, count, datatype, status))
FERMATA_BESIDE(File_read_ordered,
               (MPI_File fh, void* buf, int count, MPI_Datatype datatype, MPI_Status* status),
               (fh, buf, count, datatype, status))
FERMATA_BESIDE(File_write_ordered,
               (MPI_File fh, const void* buf, int count, MPI_Datatype datatype, MPI_Status* status),
               (fh, buf, count, datatype, status))
FERMATA_BESIDE(File_read_shared,
               (MPI_File fh, void* buf, int count, MPI_Datatype datatype, MPI_Status* status),
               (fh, buf, count, datatype, status))
FERMATA_BESIDE(File_write_shared,
               (MPI_File fh, const void* buf, int count, MPI_Datatype datatype, MPI_Status* status),
               (fh, buf, count, datatype, status))
FERMATA_BESIDE(File_read_at_all_begin,
               (MPI_File fh, MPI_Offset offset, void* buf, int count, MPI_Datatype datatype),
               (fh, offset, buf, count, datatype))
FERMATA_BESIDE(File_write_at_all_begin,
               (MPI_File fh, MPI_Offset offset, const void* buf, int count, MPI_Datatype datatype),
               (fh, offset, buf, count, datatype))
FERMATA_BESIDE(File_read_all_begin, (MPI_File fh, void* buf, int count, MPI_Datatype datatype),
               (fh, buf, count, datatype))
FERMATA_BESIDE(File_write_all_begin, (MPI_File fh, const void* buf, int count, MPI_Datatype datatype),
               (fh, buf, count, datatype))
FERMATA_BESIDE(File_read_ordered_begin, (MPI_File fh, void* buf, int count, MPI_Datatype datatype),
               (fh, buf, count, datatype))
FERMATA_BESIDE(File_write_ordered_begin, (MPI_File fh, const void* buf, int count, MPI_Datatype datatype),
               (fh, buf, count, datatype))
FERMATA_BESIDE(File_iread_all,
               (MPI_File fh, void* buf, int count, MPI_Datatype datatype, MPI_Request* request),
               (fh, buf, count, datatype, request))
FERMATA_BESIDE(File_iwrite_all,
               (MPI_File fh, const void* buf, int count, MPI_Datatype datatype, MPI_Request* request),
               (fh, buf, count, datatype, request))
FERMATA_BESIDE(File_iread_at_all,
               (MPI_File fh, MPI_Offset offset, void* buf, int count, MPI_Datatype datatype,
                MPI_Request* request),
               (fh, offset, buf, count, datatype, request))
FERMATA_BESIDE(File_iwrite_at_all,
               (MPI_File fh, MPI_Offset offset, const void* buf, int count, MPI_Datatype datatype,
                MPI_Request* request),
               (fh, offset, buf, count, datatype, request))
FERMATA_BESIDE(File_iread_shared,
               (MPI_File fh, void* buf, int count, MPI_Datatype datatype, MPI_Request* request),
               (fh, buf, count, datatype, request))
FERMATA_BESIDE(File_iwrite_shared,
               (MPI_File fh, const void* buf, int count, MPI_Datatype datatype, MPI_Request* request),
               (fh, buf, count, datatype, request))
FERMATA_BESIDE(File_read_at_all_end, (MPI_File fh, void* buf, MPI_Status* status), (fh, buf, status))
FERMATA_BESIDE(File_write_at_all_end, (MPI_File fh, const void* buf, MPI_Status* status), (fh, buf, status))
FERMATA_BESIDE(File_read_all_end, (MPI_File fh, void* buf, MPI_Status* status), (fh, buf, status))
FERMATA_BESIDE(File_write_all_end, (MPI_File fh, const void* buf, MPI_Status* status), (fh, buf, status))
FERMATA_BESIDE(File_read_ordered_end, (MPI_File fh, void* buf, MPI_Status* status), (fh, buf, status))
FERMATA_BESIDE(File_write_ordered_end, (MPI_File fh, const void* buf, MPI_Status* status), (fh, buf, status))

#ifdef FERMATA_MPI_LARGE
FERMATA_BESIDE(File_read_at_all_c,
               (MPI_File fh, MPI_Offset offset, void* buf, MPI_Count count, MPI_Datatype datatype,
                MPI_Status* status),
               (fh, offset, buf, count, datatype, status))
FERMATA_BESIDE(File_write_at_all_c,
               (MPI_File fh, MPI_Offset offset, const void* buf, MPI_Count count, MPI_Datatype datatype,
                MPI_Status* status),
               (fh, offset, buf, count, datatype, status))
FERMATA_BESIDE(File_read_all_c,
               (MPI_File fh, void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Status* status),
               (fh, buf, count, datatype, status))
FERMATA_BESIDE(File_write_all_c,
               (MPI_File fh, const void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Status* status),
               (fh, buf, count, datatype, status))
FERMATA_BESIDE(File_read_ordered_c,
               (MPI_File fh, void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Status* status),
               (fh, buf, count, datatype, status))
FERMATA_BESIDE(File_write_ordered_c,
               (MPI_File fh, const void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Status* status),
               (fh, buf, count, datatype, status))
FERMATA_BESIDE(File_read_shared_c,
               (MPI_File fh, void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Status* status),
               (fh, buf, count, datatype, status))
FERMATA_BESIDE(File_write_shared_c,
               (MPI_File fh, const void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Status* status),
               (fh, buf, count, datatype, status))
FERMATA_BESIDE(File_read_at_all_begin_c,
               (MPI_File fh, MPI_Offset offset, void* buf, MPI_Count count, MPI_Datatype datatype),
               (fh, offset, buf, count, datatype))
FERMATA_BESIDE(File_write_at_all_begin_c,
               (MPI_File fh, MPI_Offset offset, const void* buf, MPI_Count count, MPI_Datatype datatype),
               (fh, offset, buf, count, datatype))
FERMATA_BESIDE(File_read_all_begin_c, (MPI_File fh, void* buf, MPI_Count count, MPI_Datatype datatype),
               (fh, buf, count, datatype))
FERMATA_BESIDE(File_write_all_begin_c, (MPI_File fh, const void* buf, MPI_Count count, MPI_Datatype datatype),
               (fh, buf, count, datatype))
FERMATA_BESIDE(File_read_ordered_begin_c, (MPI_File fh, void* buf, MPI_Count count, MPI_Datatype datatype),
               (fh, buf, count, datatype))
FERMATA_BESIDE(File_write_ordered_begin_c,
               (MPI_File fh, const void* buf, MPI_Count count, MPI_Datatype datatype),
               (fh, buf, count, datatype))
FERMATA_BESIDE(File_iread_all_c,
               (MPI_File fh, void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Request* request),
               (fh, buf, count, datatype, request))
FERMATA_BESIDE(File_iwrite_all_c,
               (MPI_File fh, const void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Request* request),
               (fh, buf, count, datatype, request))
FERMATA_BESIDE(File_iread_at_all_c,
               (MPI_File fh, MPI_Offset offset, void* buf, MPI_Count count, MPI_Datatype datatype,
                MPI_Request* request),
               (fh, offset, buf, count, datatype, request))
FERMATA_BESIDE(File_iwrite_at_all_c,
               (MPI_File fh, MPI_Offset offset, const void* buf, MPI_Count count, MPI_Datatype datatype,
                MPI_Request* request),
               (fh, offset, buf, count, datatype, request))
FERMATA_BESIDE(File_iread_shared_c,
               (MPI_File fh, void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Request* request),
               (fh, buf, count, datatype, request))
FERMATA_BESIDE(File_iwrite_shared_c,
               (MPI_File fh, const void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Request* request),
               (fh, buf, count, datatype, request))
#endif

}  // extern "C"
