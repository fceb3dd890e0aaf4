# Completion of ferrio for bash; generated from the option table.
_ferrio_names=" \
--output= \
--minimal \
--output-format= \
--append-terse= \
--version \
--help \
--cmdhelp= \
--enghelp= \
--showcmd \
--readonly \
--eta= \
--eta-interval= \
--eta-newline= \
--debug= \
--parse-only \
--section= \
--alloc-size= \
--warnings-fatal \
--max-jobs= \
--terse-version= \
--status-interval= \
--trigger-timeout= \
--aux-path= \
--merge-blktrace-only \
--description= \
--name= \
--wait_for= \
--filename= \
--filetype= \
--directory= \
--filename_format= \
--unique_filename= \
--lockfile= \
--opendir= \
--rw= \
--readwrite= \
--rw_sequencer= \
--ioengine= \
--iodepth= \
--iodepth_batch= \
--iodepth_batch_submit= \
--iodepth_batch_complete_min= \
--iodepth_batch_complete= \
--iodepth_batch_complete_max= \
--iodepth_low= \
--serialize_overlap= \
--io_submit_mode= \
--size= \
--io_size= \
--io_limit= \
--fill_device= \
--fill_fs= \
--filesize= \
--file_append= \
--offset= \
--fileoffset= \
--offset_align= \
--offset_increment= \
--number_ios= \
--bs= \
--blocksize= \
--ba= \
--blockalign= \
--bsrange= \
--blocksize_range= \
--bssplit= \
--bs_unaligned \
--blocksize_unaligned \
--bs_is_seq_rand= \
--randrepeat= \
--allrandrepeat= \
--randseed= \
--norandommap \
--softrandommap= \
--random_generator= \
--random_distribution= \
--random_sequence_stride= \
--percentage_random= \
--nrfiles= \
--nr_files= \
--openfiles= \
--file_service_type= \
--fallocate= \
--fadvise_hint= \
--fsync= \
--fdatasync= \
--write_barrier= \
--sync_file_range= \
--direct= \
--atomic= \
--buffered= \
--overwrite= \
--loops= \
--numjobs= \
--startdelay= \
--runtime= \
--timeout= \
--time_based \
--ramp_time= \
--ramp_size= \
--clocksource= \
--mem= \
--iomem= \
--iomem_align= \
--mem_align= \
--write_iolog= \
--iolog_version= \
--exec_prerun= \
--exec_postrun= \
--ioscheduler= \
--zonemode= \
--zonesize= \
--zonerange= \
--zoneskip= \
--lockmem= \
--rwmixread= \
--rwmixwrite= \
--comm= \
--nice= \
--prio= \
--prioclass= \
--priohint= \
--thinktime= \
--thinktime_spin= \
--thinkcycles= \
--thinktime_blocks= \
--thinktime_blocks_type= \
--thinktime_iotime= \
--rate= \
--rate_min= \
--ratemin= \
--rate_iops= \
--rate_iops_min= \
--rate_process= \
--rate_cycle= \
--ratecycle= \
--rate_ignore_thinktime= \
--max_latency= \
--latency_window= \
--latency_percentile= \
--invalidate= \
--sync= \
--write_hint= \
--create_serialize= \
--create_fsync= \
--create_on_open= \
--create_only= \
--allow_file_create= \
--allow_mounted_write= \
--pre_read= \
--cpumask= \
--cpus_allowed= \
--cpus_allowed_policy= \
--end_fsync= \
--fsync_on_close= \
--end_syncfs= \
--unlink= \
--unlink_each_loop= \
--exitall \
--exit_what= \
--exitall_on_error \
--stonewall \
--wait_for_previous \
--new_group \
--thread \
--bwavgtime= \
--iopsavgtime= \
--group_reporting \
--stats= \
--zero_buffers \
--refill_buffers \
--scramble_buffers= \
--buffer_pattern= \
--buffer_compress_percentage= \
--buffer_compress_chunk= \
--dedupe_percentage= \
--dedupe_global= \
--dedupe_mode= \
--dedupe_working_set_percentage= \
--clat_percentiles= \
--lat_percentiles= \
--slat_percentiles= \
--percentile_list= \
--significant_figures= \
--disk_util= \
--gtod_reduce= \
--disable_lat= \
--disable_clat= \
--disable_slat= \
--disable_bw_measurement= \
--disable_bw= \
--job_start_clock_id= \
--unified_rw_reporting= \
--continue_on_error= \
--ignore_error= \
--error_dump= \
--uid= \
--gid= \
--kb_base= \
--unit_base= \
--hipri \
--hipri_percentage= \
--uncached= \
--nowait= \
--thp= \
--fixedbufs \
--registerfiles \
--sqthread_poll \
--sqthread_poll_cpu= \
--nonvectored= \
--force_async= \
--stat_type= \
--cpuload= \
--cpumode= \
--cpuchunks= \
--exit_on_io_done= \
--userspace_reap \
--libaio_vectored= \
"
_ferrio_lists=" output-format "
_ferrio_glued=" append-terse cmdhelp enghelp "
declare -gA _ferrio_words=(
    [output-format]="normal terse json json+ json-lines"
    [cmdhelp]="description name wait_for filename filetype directory filename_format unique_filename lockfile opendir rw rw_sequencer ioengine iodepth iodepth_batch iodepth_batch_complete_min iodepth_batch_complete_max iodepth_low serialize_overlap io_submit_mode size io_size fill_device filesize file_append offset offset_align offset_increment number_ios num_range bs ba bsrange bssplit bs_unaligned bs_is_seq_rand randrepeat randseed norandommap softrandommap sprandom spr_num_regions spr_op spr_cs random_generator random_distribution random_sequence_stride percentage_random nrfiles openfiles file_service_type fallocate fadvise_hint fsync fdatasync write_barrier sync_file_range direct atomic buffered overwrite loops numjobs startdelay runtime time_based verify_only ramp_time ramp_size clocksource mem iomem_align verify do_verify verify_policy verify_interval verify_offset verify_pattern verify_pattern_interval verify_fatal verify_dump verify_async verify_backlog verify_backlog_batch verify_async_cpus experimental_verify verify_state_load verify_state_save verify_write_sequence verify_header_seed trim_percentage trim_verify_zero trim_backlog trim_backlog_batch write_iolog iolog_version read_iolog read_iolog_chunked replay_no_stall replay_redirect replay_scale replay_align replay_time_scale replay_skip merge_blktrace_file merge_blktrace_scalars merge_blktrace_iters exec_prerun exec_postrun ioscheduler zonemode zonesize zonecapacity zonerange zoneskip read_beyond_wp max_open_zones job_max_open_zones ignore_zone_limits zone_reset_threshold zone_reset_frequency recover_zbd_write_error write_zone_remainder fdp dataplacement plid_select plids dp_scheme lockmem rwmixread rwmixwrite comm nice prio prioclass priohint thinktime thinktime_spin thinkcycles thinktime_blocks thinktime_blocks_type thinktime_iotime rate rate_min rate_iops rate_iops_min rate_process rate_cycle rate_ignore_thinktime max_latency latency_target latency_window latency_percentile latency_run invalidate sync write_hint create_serialize create_fsync create_on_open create_only allow_file_create allow_mounted_write pre_read cpumask cpus_allowed cpus_allowed_policy numa_cpu_nodes numa_mem_policy gpu_dev_id end_fsync fsync_on_close end_syncfs unlink unlink_each_loop exitall exit_what exitall_on_error stonewall new_group thread per_job_logs write_bw_log write_lat_log write_iops_log log_entries log_avg_msec log_hist_msec log_hist_coarseness write_hist_log log_window_value log_offset log_prio log_issue_time log_compression log_compression_cpus log_store_compressed log_alternate_epoch log_alternate_epoch_clock_id block_error_percentiles bwavgtime iopsavgtime group_reporting stats zero_buffers refill_buffers scramble_buffers buffer_pattern buffer_compress_percentage buffer_compress_chunk dedupe_percentage dedupe_global dedupe_mode dedupe_working_set_percentage clat_percentiles lat_percentiles slat_percentiles percentile_list significant_figures disk_util gtod_reduce disable_lat disable_clat disable_slat disable_bw_measurement gtod_cpu job_start_clock_id unified_rw_reporting continue_on_error ignore_error error_dump profile cgroup cgroup_nodelete cgroup_weight uid gid kb_base unit_base hugepage-size flow_id flow flow_sleep steadystate steadystate_duration steadystate_ramp_time steadystate_check_interval"
    [enghelp]="cpuio mmap sync psync vsync pvsync pvsync2 null net netsplice ftruncate filecreate filestat filedelete dircreate dirstat dirdelete exec page_fault posixaio falloc e4defrag splice mtd sg io_uring io_uring_cmd libaio solarisaio windowsaio rbd rados rdma gfapi gfapi_async libhdfs ime_psync ime_psyncv ime_aio dev-dax libpmem http nbd dfs nfs xnvme libblkio libzbc libcufile libhipfile libiscsi"
    [eta]="always never auto"
    [filetype]="none file block char"
    [lockfile]="none exclusive readwrite"
    [rw]="read write trim randread randwrite randtrim rw readwrite randrw trimwrite randtrimwrite"
    [readwrite]="read write trim randread randwrite randtrim rw readwrite randrw trimwrite randtrimwrite"
    [rw_sequencer]="sequential identical"
    [ioengine]="cpuio mmap sync psync vsync pvsync pvsync2 null ftruncate filecreate filestat filedelete dircreate dirstat dirdelete posixaio falloc splice io_uring libaio"
    [io_submit_mode]="inline offload"
    [random_generator]="tausworthe lfsr tausworthe64"
    [random_distribution]="random zipf pareto normal zoned zoned_abs sequence"
    [file_service_type]="random zipf pareto normal gauss roundrobin sequential"
    [fallocate]="none native posix keep truncate 0 1"
    [fadvise_hint]="0 1 random sequential noreuse"
    [sync_file_range]="wait_before write wait_after"
    [clocksource]="gettimeofday clock_gettime cpu"
    [mem]="malloc shm mmap mmapshared"
    [iomem]="malloc shm mmap mmapshared"
    [zonemode]="none strided"
    [thinktime_blocks_type]="complete issue"
    [rate_process]="linear poisson"
    [sync]="none 0 sync 1 dsync"
    [write_hint]="none short medium long extreme"
    [cpus_allowed_policy]="shared split"
    [exit_what]="group stonewall all"
    [dedupe_mode]="repeat working_set"
    [unified_rw_reporting]="none mixed both 0 1 2"
    [continue_on_error]="none read write io verify all 0 1"
    [kb_base]="1024 1000"
    [unit_base]="0 8 1"
    [stat_type]="stat lstat statx"
    [cpumode]="noop qsort"
)

# Values of the option $1, without dashes, that begin with $2.
_ferrio_value() {
    local words=${_ferrio_words[$1]-} before=
    if [[ -z $words ]]; then
        compopt -o filenames 2>/dev/null
        # Bash completes what stands behind the last colon.
        mapfile -t COMPREPLY < <(compgen -f -- "${2##*:}")
        return
    fi
    if [[ $_ferrio_lists == *" $1 "* && $2 == *,* ]]; then
        before=${2%,*},
    fi
    mapfile -t COMPREPLY < <(compgen -P "$before" -W "$words" -- "${2#"$before"}")
}

_ferrio() {
    local line=${COMP_LINE:0:COMP_POINT} word option last name
    word=${line##*[[:space:]]}
    line=${line%"$word"}
    line=${line%"${line##*[![:space:]]}"}
    last=${line##*[[:space:]]}
    COMPREPLY=()
    # The value as a word of its own.
    if [[ $last == -* && $last != *=* ]]; then
        option=${last#-}
        option=${option#-}
        if [[ $_ferrio_names == *" --$option= "* && $_ferrio_glued != *" $option "* ]]; then
            _ferrio_value "$option" "$word"
            return
        fi
    fi
    case $word in
    -*=*)
        option=${word%%=*}
        option=${option#-}
        _ferrio_value "${option#-}" "${word#*=}"
        ;;
    --*)
        mapfile -t COMPREPLY < <(compgen -W "$_ferrio_names" -- "$word")
        ;;
    -*)
        mapfile -t COMPREPLY < <(compgen -W "$_ferrio_names" -- "-$word")
        COMPREPLY=("${COMPREPLY[@]#-}")
        ;;
    *)
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        ;;
    esac
    for name in "${COMPREPLY[@]}"; do
        [[ $name == *= ]] && compopt -o nospace 2>/dev/null
    done
    return 0
}
complete -F _ferrio ferrio
