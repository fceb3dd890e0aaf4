//! Engines and their options.

use super::{Kind, Opt, Set, word};
use crate::draft::{Ctx, Draft};
use crate::spec::{CpuMode, StatCall};
use crate::value::{Value, split};

/// An engine that the option table knows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Engine {
    pub(crate) name: &'static str,
    /// ferrio has it.
    pub(crate) built: bool,
}

const fn built(name: &'static str) -> Engine {
    Engine { name, built: true }
}

const fn unbuilt(name: &'static str) -> Engine {
    Engine { name, built: false }
}

/// All engines, in the order of `--enghelp`.
pub(crate) static ENGINES: &[Engine] = &[
    built("cpuio"),
    built("mmap"),
    built("sync"),
    built("psync"),
    built("vsync"),
    built("pvsync"),
    built("pvsync2"),
    built("null"),
    unbuilt("net"),
    unbuilt("netsplice"),
    built("ftruncate"),
    built("filecreate"),
    built("filestat"),
    built("filedelete"),
    built("dircreate"),
    built("dirstat"),
    built("dirdelete"),
    unbuilt("exec"),
    unbuilt("page_fault"),
    built("posixaio"),
    built("falloc"),
    unbuilt("e4defrag"),
    built("splice"),
    unbuilt("mtd"),
    unbuilt("sg"),
    built("io_uring"),
    unbuilt("io_uring_cmd"),
    built("libaio"),
    unbuilt("solarisaio"),
    unbuilt("windowsaio"),
    unbuilt("rbd"),
    unbuilt("rados"),
    unbuilt("rdma"),
    unbuilt("gfapi"),
    unbuilt("gfapi_async"),
    unbuilt("libhdfs"),
    unbuilt("ime_psync"),
    unbuilt("ime_psyncv"),
    unbuilt("ime_aio"),
    unbuilt("dev-dax"),
    unbuilt("libpmem"),
    unbuilt("http"),
    unbuilt("nbd"),
    unbuilt("dfs"),
    unbuilt("nfs"),
    unbuilt("xnvme"),
    unbuilt("libblkio"),
    unbuilt("libzbc"),
    unbuilt("libcufile"),
    unbuilt("libhipfile"),
    unbuilt("libiscsi"),
];

/// The engine of that name.
pub(crate) fn find_engine(name: &str) -> Option<&'static Engine> {
    ENGINES.iter().find(|engine| engine.name == name)
}

/// `aio...` and `linuxaio...` mean libaio.
pub(super) fn canonical(name: &str) -> &str {
    if name.starts_with("linuxaio") || name.starts_with("aio") {
        "libaio"
    } else {
        name
    }
}

/// One table per engine (or engines that share one).
pub(super) static OPTIONS: &[&[Opt]] = &[
    E4DEFRAG, LIBCUFILE, EXEC, RDMA, PVSYNC2, NBD, LIBHDFS, DFS, MMAP, GFAPI, XNVME, RADOS,
    WINDOWSAIO, SG, HTTP, LIBHIPFILE, LIBBLKIO, IO_URING, NFS, NET, FILESTAT, CPUIO, RBD, MTD,
    LIBISCSI, LIBAIO,
];

static E4DEFRAG: &[Opt] = &[
    Opt::new(
        "donorname",
        Kind::Text,
        "File that lends its blocks (required)",
    )
    .at("I/O engines", "Ext4 defrag I/O engine")
    .engines(&["e4defrag"]),
    Opt::new(
        "inplace",
        Kind::Int,
        "Allocate the donor range inside each event instead of once at the start",
    )
    .at("I/O engines", "Ext4 defrag I/O engine")
    .range(0, 1)
    .engines(&["e4defrag"]),
];

static LIBCUFILE: &[Opt] = &[
    Opt::new(
        "gpu_dev_ids",
        Kind::Text,
        "GPU numbers, one per clone, separated by ':'",
    )
    .at("I/O engines", "libcufile I/O engine")
    .engines(&["libcufile"]),
    Opt::new("cuda_io", Kind::Word, "Path of the data")
        .at("I/O engines", "libcufile I/O engine")
        .words(&[
            word("cufile", "cuFile"),
            word("posix", "POSIX calls through a bounce buffer"),
        ])
        .default("cufile")
        .engines(&["libcufile"]),
];

static EXEC: &[Opt] = &[
    Opt::new("program", Kind::Text, "Program to run")
        .at("I/O engines", "")
        .engines(&["exec"]),
    Opt::new(
        "arguments",
        Kind::Text,
        "Its arguments; keywords for runtime and job name are expanded",
    )
    .at("I/O engines", "")
    .engines(&["exec"]),
    Opt::new(
        "grace_time",
        Kind::Int,
        "Seconds between the polite and the forced kill",
    )
    .at("I/O engines", "")
    .default("1")
    .engines(&["exec"]),
    Opt::new(
        "std_redirect",
        Kind::Bool,
        "Send the program's output to files",
    )
    .at("I/O engines", "")
    .default("1")
    .engines(&["exec"]),
];

static RDMA: &[Opt] = &[
    Opt::new(
        "hostname",
        Kind::Text,
        "Peer name; stored into the job's filename setting",
    )
    .at("I/O engines", "RDMA I/O engine")
    .engines(&["rdma"]),
    Opt::new("bindname", Kind::Text, "Local address to bind")
        .at("I/O engines", "RDMA I/O engine")
        .default("")
        .engines(&["rdma"]),
    Opt::new("port", Kind::Int, "Connection port")
        .at("I/O engines", "RDMA I/O engine")
        .range(1, 65535)
        .engines(&["rdma"]),
    Opt::new("verb", Kind::Word, "RDMA operation used")
        .aka(&["proto"])
        .at("I/O engines", "RDMA I/O engine")
        .words(&[
            word("write", "one-sided write"),
            word("read", "one-sided read"),
            word("send", "channel send"),
            word("recv", "channel receive"),
        ])
        .default("write")
        .engines(&["rdma"]),
];

static PVSYNC2: &[Opt] = &[
    Opt::new("hipri", Kind::Flag, "Polled I/O flag on each call")
        .at("I/O engines", "")
        .engines(&["pvsync2"])
        .sets(Set::Switch(|d| &mut d.engine_options.pvsync2.hipri)),
    Opt::new(
        "hipri_percentage",
        Kind::Int,
        "Share of calls that carry the polled flag",
    )
    .at("I/O engines", "")
    .default("100")
    .range(0, 100)
    .engines(&["pvsync2"])
    .sets(Set::U32(|d| &mut d.engine_options.pvsync2.hipri_percent)),
    Opt::new(
        "uncached",
        Kind::Int,
        "Buffered I/O that leaves no pages in the cache",
    )
    .at("I/O engines", "")
    .engines(&["pvsync2"])
    .sets(Set::Switch(|d| &mut d.engine_options.pvsync2.uncached)),
    Opt::new("nowait", Kind::Bool, "Fail instead of blocking")
        .at("I/O engines", "")
        .engines(&["pvsync2"])
        .sets(Set::Switch(|d| &mut d.engine_options.pvsync2.nowait)),
];

static NBD: &[Opt] = &[Opt::new("uri", Kind::Text, "Address of the NBD export")
    .at("I/O engines", "NBD I/O engine")
    .engines(&["nbd"])];

static LIBHDFS: &[Opt] = &[
    Opt::new("namenode", Kind::Text, "HDFS name node")
        .at("I/O engines", "libhdfs I/O engine")
        .default("localhost")
        .engines(&["libhdfs"]),
    Opt::new("hostname", Kind::Text, "Same setting as namenode")
        .at("I/O engines", "libhdfs I/O engine")
        .default("localhost")
        .engines(&["libhdfs"]),
    Opt::new("port", Kind::Int, "HDFS name node port")
        .at("I/O engines", "libhdfs I/O engine")
        .default("9000")
        .range(1, 65535)
        .engines(&["libhdfs"]),
    Opt::new("hdfsdirectory", Kind::Text, "Directory for the chunks")
        .at("I/O engines", "libhdfs I/O engine")
        .default("/")
        .engines(&["libhdfs"]),
    Opt::new("chunk_size", Kind::Int, "Bytes per chunk")
        .aka(&["chunck_size"])
        .at("I/O engines", "libhdfs I/O engine")
        .default("1048576")
        .engines(&["libhdfs"]),
    Opt::new("single_instance", Kind::Bool, "Share one connection")
        .at("I/O engines", "libhdfs I/O engine")
        .default("1")
        .engines(&["libhdfs"]),
    Opt::new("hdfs_use_direct", Kind::Bool, "Use the direct read call")
        .at("I/O engines", "libhdfs I/O engine")
        .default("0")
        .engines(&["libhdfs"]),
];

static DFS: &[Opt] = &[
    Opt::new("pool", Kind::Text, "DAOS pool")
        .at("I/O engines", "DAOS File System (dfs) I/O engine")
        .engines(&["dfs"]),
    Opt::new("cont", Kind::Text, "DAOS container")
        .at("I/O engines", "DAOS File System (dfs) I/O engine")
        .engines(&["dfs"]),
    Opt::new(
        "chunk_size",
        Kind::Wide,
        "Chunk size, 0 for the container's own",
    )
    .at("I/O engines", "DAOS File System (dfs) I/O engine")
    .default("0")
    .engines(&["dfs"]),
    Opt::new(
        "object_class",
        Kind::Text,
        "Object class for new DAOS objects",
    )
    .at("I/O engines", "DAOS File System (dfs) I/O engine")
    .engines(&["dfs"]),
    Opt::new("svcl", Kind::Text, "Service ranks of the pool")
        .at("I/O engines", "DAOS File System (dfs) I/O engine")
        .engines(&["dfs"]),
];

static MMAP: &[Opt] = &[Opt::new(
    "thp",
    Kind::Int,
    "Advise transparent huge pages on the mapping",
)
.at("I/O engines", "mmap I/O engine")
.engines(&["mmap"])
.sets(Set::Switch(|d| &mut d.engine_options.mmap.huge_pages))];

static GFAPI: &[Opt] = &[
    Opt::new("volume", Kind::Text, "Gluster volume")
        .at("I/O engines", "GlusterFS I/O engine")
        .engines(&["gfapi", "gfapi_async"]),
    Opt::new("brick", Kind::Text, "Gluster server")
        .at("I/O engines", "GlusterFS I/O engine")
        .engines(&["gfapi", "gfapi_async"]),
    Opt::new("single-instance", Kind::Bool, "Share one connection")
        .at("I/O engines", "GlusterFS I/O engine")
        .engines(&["gfapi", "gfapi_async"]),
];

static XNVME: &[Opt] = &[
    Opt::new("hipri", Kind::Flag, "Polled completions")
        .at("I/O engines", "xnvme I/O engine")
        .engines(&["xnvme"]),
    Opt::new(
        "sqthread_poll",
        Kind::Flag,
        "Kernel thread polls the submission queue",
    )
    .at("I/O engines", "xnvme I/O engine")
    .engines(&["xnvme"]),
    Opt::new("xnvme_be", Kind::Text, "xNVMe backend")
        .at("I/O engines", "xnvme I/O engine")
        .engines(&["xnvme"]),
    Opt::new("xnvme_mem", Kind::Text, "xNVMe memory backend")
        .at("I/O engines", "xnvme I/O engine")
        .engines(&["xnvme"]),
    Opt::new("xnvme_async", Kind::Text, "xNVMe asynchronous interface")
        .at("I/O engines", "xnvme I/O engine")
        .engines(&["xnvme"]),
    Opt::new("xnvme_sync", Kind::Text, "xNVMe synchronous interface")
        .at("I/O engines", "xnvme I/O engine")
        .engines(&["xnvme"]),
    Opt::new("xnvme_admin", Kind::Text, "xNVMe admin interface")
        .at("I/O engines", "xnvme I/O engine")
        .engines(&["xnvme"]),
    Opt::new(
        "xnvme_dev_nsid",
        Kind::Int,
        "Namespace number for user-space drivers",
    )
    .at("I/O engines", "xnvme I/O engine")
    .engines(&["xnvme"]),
    Opt::new("xnvme_dev_subnqn", Kind::Text, "Subsystem name for fabrics")
        .at("I/O engines", "xnvme I/O engine")
        .engines(&["xnvme"]),
    Opt::new("xnvme_iovec", Kind::Flag, "Vectored commands")
        .at("I/O engines", "xnvme I/O engine")
        .engines(&["xnvme"]),
    Opt::new(
        "md_per_io_size",
        Kind::Int,
        "Separate metadata bytes per I/O",
    )
    .at("I/O engines", "xnvme I/O engine")
    .default("0")
    .engines(&["xnvme"]),
    Opt::new(
        "pi_act",
        Kind::Bool,
        "Let the controller insert or strip protection information",
    )
    .at("I/O engines", "xnvme I/O engine")
    .default("1")
    .engines(&["xnvme"]),
    Opt::new(
        "pi_chk",
        Kind::Text,
        "Which protection fields to check (words GUARD, REFTAG, APPTAG)",
    )
    .at("I/O engines", "xnvme I/O engine")
    .engines(&["xnvme"]),
    Opt::new("apptag", Kind::Int, "Application tag")
        .at("I/O engines", "xnvme I/O engine")
        .default("0x1234")
        .engines(&["xnvme"]),
    Opt::new("apptag_mask", Kind::Int, "Mask for the application tag")
        .at("I/O engines", "xnvme I/O engine")
        .default("0xffff")
        .engines(&["xnvme"]),
];

static RADOS: &[Opt] = &[
    Opt::new("clustername", Kind::Text, "Ceph cluster")
        .at("I/O engines", "RBD I/O engine")
        .engines(&["rados"]),
    Opt::new("pool", Kind::Text, "Ceph pool")
        .at("I/O engines", "RBD I/O engine")
        .engines(&["rados"]),
    Opt::new("clientname", Kind::Text, "Ceph user")
        .at("I/O engines", "RBD I/O engine")
        .engines(&["rados"]),
    Opt::new("conf", Kind::Text, "Ceph configuration file")
        .at("I/O engines", "RBD I/O engine")
        .default("/etc/ceph/ceph.conf")
        .engines(&["rados"]),
    Opt::new("busy_poll", Kind::Bool, "Spin for completions")
        .at("I/O engines", "RBD I/O engine")
        .default("0")
        .engines(&["rados"]),
    Opt::new("touch_objects", Kind::Bool, "Create the objects first")
        .at("I/O engines", "RBD I/O engine")
        .default("1")
        .engines(&["rados"]),
];

static WINDOWSAIO: &[Opt] = &[Opt::new(
    "no_completion_thread",
    Kind::Flag,
    "Reap completions in the job thread",
)
.at("I/O engines", "windowsaio I/O engine")
.engines(&["windowsaio"])];

static SG: &[Opt] = &[
    Opt::new("hipri", Kind::Flag, "Polled completions")
        .at("I/O engines", "sg I/O engine")
        .engines(&["sg"]),
    Opt::new("readfua", Kind::Bool, "Force-unit-access on reads")
        .at("I/O engines", "sg I/O engine")
        .default("0")
        .engines(&["sg"]),
    Opt::new("writefua", Kind::Bool, "Force-unit-access on writes")
        .at("I/O engines", "sg I/O engine")
        .default("0")
        .engines(&["sg"]),
    Opt::new("sg_write_mode", Kind::Word, "SCSI command used for writes")
        .at("I/O engines", "sg I/O engine")
        .words(&[
            word("write", "WRITE"),
            word("write_and_verify", "WRITE AND VERIFY"),
            word("verify", "old name of write_and_verify"),
            word("write_same", "WRITE SAME"),
            word("same", "old name of write_same"),
            word("write_same_ndob", "WRITE SAME(16) without a data buffer"),
            word("verify_bytchk_00", "VERIFY, BYTCHK 00"),
            word("verify_bytchk_01", "VERIFY, BYTCHK 01"),
            word("verify_bytchk_11", "VERIFY, BYTCHK 11"),
            word("write_stream", "WRITE STREAM(16)"),
        ])
        .default("write")
        .engines(&["sg"]),
    Opt::new("stream_id", Kind::Int, "Stream of write_stream commands")
        .at("I/O engines", "sg I/O engine")
        .default("0")
        .engines(&["sg"]),
];

static HTTP: &[Opt] = &[
    Opt::new("https", Kind::Word, "TLS use")
        .at("I/O engines", "HTTP I/O engine")
        .words(&[
            word("off", "plain"),
            word("on", "TLS"),
            word("insecure", "TLS without a check of the peer"),
        ])
        .default("off")
        .engines(&["http"]),
    Opt::new("http_host", Kind::Text, "Server or bucket host")
        .at("I/O engines", "HTTP I/O engine")
        .default("localhost")
        .engines(&["http"]),
    Opt::new("http_user", Kind::Text, "User name")
        .at("I/O engines", "HTTP I/O engine")
        .engines(&["http"]),
    Opt::new("http_pass", Kind::Text, "Password")
        .at("I/O engines", "HTTP I/O engine")
        .engines(&["http"]),
    Opt::new("http_s3_key", Kind::Text, "S3 secret")
        .at("I/O engines", "HTTP I/O engine")
        .default("")
        .engines(&["http"]),
    Opt::new(
        "http_s3_keyid",
        Kind::Text,
        "Access key id of the S3 account",
    )
    .at("I/O engines", "HTTP I/O engine")
    .default("")
    .engines(&["http"]),
    Opt::new("http_s3_security_token", Kind::Text, "S3 session token")
        .at("I/O engines", "HTTP I/O engine")
        .default("")
        .engines(&["http"]),
    Opt::new("http_swift_auth_token", Kind::Text, "Swift token")
        .at("I/O engines", "HTTP I/O engine")
        .default("")
        .engines(&["http"]),
    Opt::new(
        "http_s3_region",
        Kind::Text,
        "Region name used when signing",
    )
    .at("I/O engines", "HTTP I/O engine")
    .default("us-east-1")
    .engines(&["http"]),
    Opt::new(
        "http_s3_sse_customer_key",
        Kind::Text,
        "S3 customer encryption key",
    )
    .at("I/O engines", "HTTP I/O engine")
    .default("")
    .engines(&["http"]),
    Opt::new(
        "http_s3_sse_customer_algorithm",
        Kind::Text,
        "S3 customer encryption cipher",
    )
    .at("I/O engines", "HTTP I/O engine")
    .default("AES256")
    .engines(&["http"]),
    Opt::new(
        "http_s3_storage_class",
        Kind::Text,
        "Storage class header sent on writes",
    )
    .at("I/O engines", "HTTP I/O engine")
    .default("STANDARD")
    .engines(&["http"]),
    Opt::new("http_mode", Kind::Word, "Dialect spoken")
        .at("I/O engines", "HTTP I/O engine")
        .words(&[
            word("webdav", "WebDAV"),
            word("s3", "S3"),
            word("swift", "Swift"),
        ])
        .default("webdav")
        .engines(&["http"]),
    Opt::new("http_verbose", Kind::Int, "Trace level")
        .at("I/O engines", "HTTP I/O engine")
        .default("0")
        .engines(&["http"]),
    Opt::new("http_object_mode", Kind::Word, "Object layout")
        .at("I/O engines", "HTTP I/O engine")
        .words(&[
            word("block", "an object for each block"),
            word("range", "one object per file with ranges"),
        ])
        .default("block")
        .engines(&["http"]),
];

static LIBHIPFILE: &[Opt] = &[
    Opt::new(
        "gpu_dev_ids",
        Kind::Text,
        "GPU numbers, one per clone, separated by ':'",
    )
    .at("I/O engines", "libhipfile I/O engine")
    .engines(&["libhipfile"]),
    Opt::new("rocm_io", Kind::Word, "Path of the data")
        .at("I/O engines", "libhipfile I/O engine")
        .words(&[
            word("hipfile", "hipFile"),
            word("posix", "POSIX calls through a bounce buffer"),
        ])
        .default("hipfile")
        .engines(&["libhipfile"]),
];

static LIBBLKIO: &[Opt] = &[
    Opt::new("libblkio_driver", Kind::Text, "Driver name")
        .at("I/O engines", "libblkio I/O engine")
        .engines(&["libblkio"]),
    Opt::new(
        "libblkio_path",
        Kind::Text,
        "Value of the driver's path property",
    )
    .at("I/O engines", "libblkio I/O engine")
    .engines(&["libblkio"]),
    Opt::new(
        "libblkio_pre_connect_props",
        Kind::Text,
        "Further properties set before connecting",
    )
    .at("I/O engines", "libblkio I/O engine")
    .engines(&["libblkio"]),
    Opt::new(
        "libblkio_num_entries",
        Kind::Int,
        "Value of the num-entries property",
    )
    .at("I/O engines", "libblkio I/O engine")
    .min(1)
    .engines(&["libblkio"]),
    Opt::new(
        "libblkio_queue_size",
        Kind::Int,
        "Value of the queue-size property",
    )
    .at("I/O engines", "libblkio I/O engine")
    .min(1)
    .engines(&["libblkio"]),
    Opt::new(
        "libblkio_pre_start_props",
        Kind::Text,
        "Further properties set before starting",
    )
    .at("I/O engines", "libblkio I/O engine")
    .engines(&["libblkio"]),
    Opt::new(
        "hipri",
        Kind::Flag,
        "Polled queues instead of interrupt driven ones",
    )
    .at("I/O engines", "libblkio I/O engine")
    .engines(&["libblkio"]),
    Opt::new("libblkio_vectored", Kind::Flag, "Vectored calls")
        .at("I/O engines", "libblkio I/O engine")
        .engines(&["libblkio"]),
    Opt::new(
        "libblkio_write_zeroes_on_trim",
        Kind::Flag,
        "Trim by writing zeroes",
    )
    .at("I/O engines", "libblkio I/O engine")
    .engines(&["libblkio"]),
    Opt::new(
        "libblkio_wait_mode",
        Kind::Word,
        "How completions are awaited",
    )
    .at("I/O engines", "libblkio I/O engine")
    .words(&[
        word("block", "blocking call"),
        word("eventfd", "read the eventfd"),
        word("loop", "spin"),
    ])
    .default("block")
    .engines(&["libblkio"]),
    Opt::new(
        "libblkio_force_enable_completion_eventfd",
        Kind::Flag,
        "Enable the completion eventfd even if nothing reads it",
    )
    .at("I/O engines", "libblkio I/O engine")
    .engines(&["libblkio"]),
];

static IO_URING: &[Opt] = &[
    Opt::new("hipri", Kind::Flag, "Polled completions")
        .at("I/O engines", "io_uring I/O engine")
        .engines(&["io_uring", "io_uring_cmd"])
        .sets(Set::Switch(|d| &mut d.engine_options.io_uring.hipri)),
    Opt::new("readfua", Kind::Bool, "Force-unit-access on reads (io_uring_cmd)")
        .at("I/O engines", "io_uring I/O engine")
        .default("0")
        .engines(&["io_uring", "io_uring_cmd"])
        .unless(&["ioengine"]),
    Opt::new("writefua", Kind::Bool, "Force-unit-access on writes (io_uring_cmd)")
        .at("I/O engines", "io_uring I/O engine")
        .default("0")
        .engines(&["io_uring", "io_uring_cmd"])
        .unless(&["ioengine"]),
    Opt::new("write_mode", Kind::Text, "Command for writes (io_uring_cmd): write, uncor, zeroes, verify, zone_append, or a MODE/PCT:MODE/PCT mix")
        .at("I/O engines", "io_uring I/O engine")
        .default("write")
        .engines(&["io_uring", "io_uring_cmd"])
        .unless(&["ioengine"]),
    Opt::new("verify_mode", Kind::Word, "Command for the verify phase (io_uring_cmd)")
        .at("I/O engines", "io_uring I/O engine")
        .words(&[word("read", "read back and compare on the host"), word("compare", "NVMe compare")])
        .default("read")
        .engines(&["io_uring", "io_uring_cmd"])
        .unless(&["ioengine"]),
    Opt::new("fixedbufs", Kind::Flag, "Register the buffers with the ring")
        .at("I/O engines", "io_uring I/O engine")
        .engines(&["io_uring", "io_uring_cmd"])
        .sets(Set::Switch(|d| &mut d.engine_options.io_uring.fixed_buffers)),
    Opt::new("registerfiles", Kind::Flag, "Register the files with the ring")
        .at("I/O engines", "io_uring I/O engine")
        .engines(&["io_uring", "io_uring_cmd"])
        .sets(Set::Switch(|d| &mut d.engine_options.io_uring.register_files)),
    Opt::new("sqthread_poll", Kind::Flag, "Kernel thread polls the submission queue")
        .at("I/O engines", "io_uring I/O engine")
        .engines(&["io_uring", "io_uring_cmd"])
        .sets(Set::Switch(|d| &mut d.engine_options.io_uring.sq_poll)),
    Opt::new("sqthread_poll_cpu", Kind::Int, "CPU of that thread")
        .at("I/O engines", "io_uring I/O engine")
        .engines(&["io_uring", "io_uring_cmd"])
        .sets(Set::Run(sq_poll_cpu)),
    Opt::new("nonvectored", Kind::Int, "Plain read/write opcodes; -1 lets the program decide")
        .at("I/O engines", "io_uring I/O engine")
        .default("-1")
        .engines(&["io_uring", "io_uring_cmd"])
        .sets(Set::Run(nonvectored)),
    Opt::new("uncached", Kind::Int, "Buffered I/O that leaves no pages in the cache")
        .at("I/O engines", "io_uring I/O engine")
        .engines(&["io_uring", "io_uring_cmd"])
        .sets(Set::Switch(|d| &mut d.engine_options.io_uring.uncached)),
    Opt::new("nowait", Kind::Bool, "Fail instead of blocking")
        .at("I/O engines", "io_uring I/O engine")
        .engines(&["io_uring", "io_uring_cmd"])
        .sets(Set::Switch(|d| &mut d.engine_options.io_uring.nowait)),
    Opt::new("force_async", Kind::Int, "Ask for asynchronous handling of every Nth request")
        .at("I/O engines", "io_uring I/O engine")
        .engines(&["io_uring", "io_uring_cmd"])
        .sets(Set::U32(|d| &mut d.engine_options.io_uring.force_async)),
    Opt::new("cmd_type", Kind::Word, "Kind of passthrough command")
        .at("I/O engines", "io_uring I/O engine")
        .words(&[word("nvme", "NVMe"), word("bsg", "SCSI through bsg")])
        .default("nvme")
        .engines(&["io_uring", "io_uring_cmd"])
        .unless(&["ioengine"]),
    Opt::new("cdb_len", Kind::Word, "SCSI CDB length (bsg)")
        .at("I/O engines", "io_uring I/O engine")
        .words(&[word("0", "smallest that fits"), word("10", "10 bytes"), word("16", "16 bytes"), word("32", "32 bytes")])
        .default("0")
        .engines(&["io_uring", "io_uring_cmd"])
        .unless(&["ioengine"]),
    Opt::new("verify_bytchk", Kind::Word, "BYTCHK field of SCSI VERIFY (bsg)")
        .at("I/O engines", "io_uring I/O engine")
        .words(&[word("0", "medium only"), word("1", "compare all data"), word("3", "compare one block")])
        .default("0")
        .engines(&["io_uring", "io_uring_cmd"])
        .unless(&["ioengine"]),
    Opt::new("read_mode", Kind::Word, "Command for reads (bsg)")
        .at("I/O engines", "io_uring I/O engine")
        .words(&[word("read", "READ"), word("prefetch", "PRE-FETCH")])
        .default("read")
        .engines(&["io_uring", "io_uring_cmd"])
        .unless(&["ioengine"]),
    Opt::new("cmdprio_percentage", Kind::Int, "Share of I/Os sent with high priority, read,write")
        .at("I/O engines", "io_uring I/O engine")
        .range(0, 100)
        .slots(2)
        .engines(&["io_uring", "io_uring_cmd"]),
    Opt::new("cmdprio_class", Kind::Int, "Priority class of those I/Os, read,write")
        .at("I/O engines", "io_uring I/O engine")
        .range(1, 3)
        .slots(2)
        .engines(&["io_uring", "io_uring_cmd"])
        .unless(&["cmdprio_percentage", "cmdprio_bssplit"]),
    Opt::new("cmdprio_hint", Kind::Int, "Priority hint of those I/Os, read,write")
        .at("I/O engines", "io_uring I/O engine")
        .range(0, 1023)
        .slots(2)
        .engines(&["io_uring", "io_uring_cmd"])
        .unless(&["cmdprio_percentage", "cmdprio_bssplit"]),
    Opt::new("cmdprio", Kind::Int, "Priority level of those I/Os, read,write")
        .at("I/O engines", "io_uring I/O engine")
        .range(0, 7)
        .slots(2)
        .engines(&["io_uring", "io_uring_cmd"])
        .unless(&["cmdprio_percentage", "cmdprio_bssplit"]),
    Opt::new("cmdprio_bssplit", Kind::Text, "Priorities by block size, BS/PCT[/CLASS/LEVEL[/HINT]]:..., read,write")
        .at("I/O engines", "io_uring I/O engine")
        .slots(2)
        .engines(&["io_uring", "io_uring_cmd"])
        .checks(cmdprio_split),
    Opt::new("md_per_io_size", Kind::Int, "Separate metadata bytes per I/O")
        .at("I/O engines", "io_uring I/O engine")
        .default("0")
        .engines(&["io_uring", "io_uring_cmd"])
        .unless(&["ioengine"]),
    Opt::new("pi_act", Kind::Bool, "Let the controller insert or strip protection information")
        .at("I/O engines", "io_uring I/O engine")
        .default("1")
        .engines(&["io_uring", "io_uring_cmd"])
        .unless(&["ioengine"]),
    Opt::new("pi_chk", Kind::Text, "Which protection fields to check (words GUARD, REFTAG, APPTAG)")
        .at("I/O engines", "io_uring I/O engine")
        .engines(&["io_uring", "io_uring_cmd"])
        .unless(&["ioengine"]),
    Opt::new("apptag", Kind::Int, "Application tag")
        .at("I/O engines", "io_uring I/O engine")
        .default("0x1234")
        .engines(&["io_uring", "io_uring_cmd"])
        .unless(&["ioengine"]),
    Opt::new("apptag_mask", Kind::Int, "Mask for the application tag")
        .at("I/O engines", "io_uring I/O engine")
        .default("0xffff")
        .engines(&["io_uring", "io_uring_cmd"])
        .unless(&["ioengine"]),
    Opt::new("deac", Kind::Bool, "Deallocate bit on write-zeroes")
        .at("I/O engines", "io_uring I/O engine")
        .default("0")
        .engines(&["io_uring", "io_uring_cmd"])
        .unless(&["ioengine"]),
];

static NFS: &[Opt] = &[
    Opt::new("nfs_url", Kind::Text, "Address of the export (required)")
        .at("I/O engines", "NFS I/O engine")
        .engines(&["nfs"]),
];

static NET: &[Opt] = &[
    Opt::new(
        "hostname",
        Kind::Text,
        "Peer name; stored into the job's filename setting",
    )
    .at("I/O engines", "Network I/O engine")
    .engines(&["net", "netsplice"]),
    Opt::new("port", Kind::Int, "Port")
        .at("I/O engines", "Network I/O engine")
        .range(1, 65535)
        .engines(&["net", "netsplice"]),
    Opt::new("protocol", Kind::Word, "Transport")
        .aka(&["proto"])
        .at("I/O engines", "Network I/O engine")
        .words(&[
            word("tcp", "TCP"),
            word("tcpv6", "TCP on IPv6"),
            word("udp", "UDP"),
            word("udpv6", "UDP on IPv6"),
            word("unix", "UNIX socket"),
            word("vsock", "VM socket"),
        ])
        .default("tcp")
        .engines(&["net", "netsplice"]),
    Opt::new("nodelay", Kind::Bool, "Disable Nagle batching")
        .at("I/O engines", "Network I/O engine")
        .engines(&["net", "netsplice"]),
    Opt::new(
        "listen",
        Kind::Flag,
        "Act as the receiving side that waits for a connection",
    )
    .at("I/O engines", "Network I/O engine")
    .engines(&["net", "netsplice"]),
    Opt::new("pingpong", Kind::Flag, "Answer each message")
        .at("I/O engines", "Network I/O engine")
        .engines(&["net", "netsplice"]),
    Opt::new(
        "interface",
        Kind::Text,
        "Address of the interface for multicast",
    )
    .at("I/O engines", "Network I/O engine")
    .engines(&["net", "netsplice"]),
    Opt::new("ttl", Kind::Int, "Multicast time to live")
        .at("I/O engines", "Network I/O engine")
        .default("1")
        .engines(&["net", "netsplice"]),
    Opt::new("window_size", Kind::Int, "Socket buffer size")
        .at("I/O engines", "Network I/O engine")
        .engines(&["net", "netsplice"]),
    Opt::new("mss", Kind::Int, "TCP maximum segment size")
        .at("I/O engines", "Network I/O engine")
        .engines(&["net", "netsplice"]),
];

static FILESTAT: &[Opt] = &[
    Opt::new("stat_type", Kind::Word, "Which stat call is timed")
        .at("I/O engines", "filestat I/O engine")
        .words(&[
            word("stat", "stat"),
            word("lstat", "lstat"),
            word("statx", "statx"),
        ])
        .default("stat")
        .engines(&["filestat", "dirstat"])
        .sets(Set::Run(stat_type)),
];

static CPUIO: &[Opt] = &[
    Opt::new(
        "cpuload",
        Kind::Int,
        "Percentage of one CPU to burn (required)",
    )
    .at("I/O engines", "")
    .engines(&["cpuio"])
    .sets(Set::U32(|d| &mut d.engine_options.cpuio.load_percent)),
    Opt::new("cpumode", Kind::Word, "Kind of load")
        .at("I/O engines", "")
        .words(&[word("noop", "busy loop"), word("qsort", "sorting")])
        .default("noop")
        .engines(&["cpuio"])
        .sets(Set::Run(cpu_mode)),
    Opt::new("cpuchunks", Kind::Int, "Length of a burn in usec")
        .at("I/O engines", "")
        .default("50000")
        .parent("cpuload")
        .engines(&["cpuio"])
        .sets(Set::U32(|d| &mut d.engine_options.cpuio.chunk_us)),
    Opt::new(
        "exit_on_io_done",
        Kind::Bool,
        "End when all I/O jobs are done",
    )
    .at("I/O engines", "")
    .default("0")
    .engines(&["cpuio"])
    .sets(Set::Run(exits_with_io)),
];

static RBD: &[Opt] = &[
    Opt::new("clustername", Kind::Text, "Ceph cluster")
        .at("I/O engines", "RBD I/O engine")
        .engines(&["rbd"]),
    Opt::new("rbdname", Kind::Text, "RBD image")
        .at("I/O engines", "RBD I/O engine")
        .engines(&["rbd"]),
    Opt::new("pool", Kind::Text, "Ceph pool")
        .at("I/O engines", "RBD I/O engine")
        .engines(&["rbd"]),
    Opt::new("clientname", Kind::Text, "Ceph user")
        .at("I/O engines", "RBD I/O engine")
        .engines(&["rbd"]),
    Opt::new("busy_poll", Kind::Bool, "Spin for completions")
        .at("I/O engines", "RBD I/O engine")
        .default("0")
        .engines(&["rbd"]),
    Opt::new(
        "rbd_encryption_format",
        Kind::Text,
        "Image encryption (luks1 or luks2)",
    )
    .at("I/O engines", "RBD I/O engine")
    .engines(&["rbd"]),
    Opt::new("rbd_encryption_passphrase", Kind::Text, "Its passphrase")
        .at("I/O engines", "RBD I/O engine")
        .engines(&["rbd"]),
];

static MTD: &[Opt] = &[
    Opt::new("skip_bad", Kind::Bool, "Leave known bad blocks out")
        .at("I/O engines", "MTD I/O engine")
        .default("0")
        .engines(&["mtd"]),
];

static LIBISCSI: &[Opt] = &[
    Opt::new("initiator", Kind::Text, "IQN that the client presents")
        .at("I/O engines", "libiscsi I/O engine")
        .default("iqn.2019-04.org.fio:fio")
        .engines(&["libiscsi"]),
];

static LIBAIO: &[Opt] = &[
    Opt::new(
        "userspace_reap",
        Kind::Flag,
        "Reap completions from the ring without a system call",
    )
    .at("I/O engines", "libaio I/O engine")
    .engines(&["libaio"])
    .sets(Set::Switch(|d| &mut d.engine_options.libaio.userspace_reap)),
    Opt::new("nowait", Kind::Bool, "Fail instead of blocking")
        .at("I/O engines", "libaio I/O engine")
        .engines(&["libaio"])
        .sets(Set::Switch(|d| &mut d.engine_options.libaio.nowait)),
    Opt::new("libaio_vectored", Kind::Bool, "Vectored opcodes")
        .at("I/O engines", "libaio I/O engine")
        .engines(&["libaio"])
        .sets(Set::Switch(|d| &mut d.engine_options.libaio.vectored)),
    Opt::new(
        "cmdprio_percentage",
        Kind::Int,
        "Share of I/Os sent with high priority, read,write",
    )
    .at("I/O engines", "libaio I/O engine")
    .range(0, 100)
    .slots(2)
    .engines(&["libaio"]),
    Opt::new(
        "cmdprio_class",
        Kind::Int,
        "Priority class of those I/Os, read,write",
    )
    .at("I/O engines", "libaio I/O engine")
    .range(1, 3)
    .slots(2)
    .engines(&["libaio"])
    .unless(&["cmdprio_percentage", "cmdprio_bssplit"]),
    Opt::new(
        "cmdprio_hint",
        Kind::Int,
        "Priority hint of those I/Os, read,write",
    )
    .at("I/O engines", "libaio I/O engine")
    .range(0, 1023)
    .slots(2)
    .engines(&["libaio"])
    .unless(&["cmdprio_percentage", "cmdprio_bssplit"]),
    Opt::new(
        "cmdprio",
        Kind::Int,
        "Priority level of those I/Os, read,write",
    )
    .at("I/O engines", "libaio I/O engine")
    .range(0, 7)
    .slots(2)
    .engines(&["libaio"])
    .unless(&["cmdprio_percentage", "cmdprio_bssplit"]),
    Opt::new(
        "cmdprio_bssplit",
        Kind::Text,
        "Priorities by block size, BS/PCT[/CLASS/LEVEL[/HINT]]:..., read,write",
    )
    .at("I/O engines", "libaio I/O engine")
    .slots(2)
    .engines(&["libaio"])
    .checks(cmdprio_split),
];

fn sq_poll_cpu(draft: &mut Draft, value: &Value, _: &mut Ctx<'_>) -> Result<(), String> {
    draft.engine_options.io_uring.sq_poll_cpu = Some(value.number() as u32);
    Ok(())
}

/// -1 lets the engine find out.
fn nonvectored(draft: &mut Draft, value: &Value, _: &mut Ctx<'_>) -> Result<(), String> {
    let number = (value.number() as u32).cast_signed();
    draft.engine_options.io_uring.nonvectored = if number < 0 { None } else { Some(number != 0) };
    Ok(())
}

fn stat_type(draft: &mut Draft, value: &Value, _: &mut Ctx<'_>) -> Result<(), String> {
    draft.engine_options.stat_call = match value {
        Value::Word(1, _) => StatCall::Lstat,
        Value::Word(2, _) => StatCall::Statx,
        _ => StatCall::Stat,
    };
    Ok(())
}

fn cpu_mode(draft: &mut Draft, value: &Value, _: &mut Ctx<'_>) -> Result<(), String> {
    draft.engine_options.cpuio.mode = match value {
        Value::Word(1, _) => CpuMode::Sort,
        _ => CpuMode::Spin,
    };
    Ok(())
}

/// Jobs that do no I/O end with the last one that does, as fio's do, whatever this says.
fn exits_with_io(_: &mut Draft, _: &Value, _: &mut Ctx<'_>) -> Result<(), String> {
    Ok(())
}

/// The syntax of `bssplit`, for reads and writes.
fn cmdprio_split(_: &mut Draft, value: &Value, _: &mut Ctx<'_>) -> Result<(), String> {
    let text = value.text();
    for list in text.split(',').filter(|list| !list.is_empty()) {
        for entry in list.split(':') {
            // Entries are SIZE/PERCENT, or SIZE/PERCENT/CLASS/LEVEL and so on.
            let size = entry.split('/').take(2).collect::<Vec<_>>().join("/");
            split::block_sizes(&size, 1024, &mut None)?;
        }
    }
    Ok(())
}
