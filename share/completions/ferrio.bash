# Completion of ferrio for bash; generated from the option table.
_ferrio_names="\
--output= \
--latency-log= \
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
--rw_sequencer= \
--ioengine= \
--iodepth= \
--iodepth_batch= \
--iodepth_batch_complete_min= \
--iodepth_batch_complete_max= \
--iodepth_low= \
--serialize_overlap= \
--io_submit_mode= \
--size= \
--io_size= \
--fill_device= \
--filesize= \
--file_append= \
--offset= \
--offset_align= \
--offset_increment= \
--number_ios= \
--bs= \
--ba= \
--bsrange= \
--bssplit= \
--bs_unaligned \
--bs_is_seq_rand= \
--randrepeat= \
--randseed= \
--norandommap \
--softrandommap= \
--random_generator= \
--random_distribution= \
--random_sequence_stride= \
--percentage_random= \
--nrfiles= \
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
--time_based \
--ramp_time= \
--ramp_size= \
--clocksource= \
--mem= \
--iomem_align= \
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
--rate_iops= \
--rate_iops_min= \
--rate_process= \
--rate_cycle= \
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
declare -gA _ferrio_words=(
    [output-format]="normal terse json json+"
    [eta]="always never auto"
    [filetype]="none file block char"
    [lockfile]="none exclusive readwrite"
    [rw]="read write trim randread randwrite randtrim rw readwrite randrw trimwrite randtrimwrite"
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

_ferrio() {
    local line=${COMP_LINE:0:COMP_POINT} word value
    word=${line##*[[:space:]]}
    case $word in
    -*=*)
        value=${word#*=}
        word=${word%%=*}
        word=${word##-}
        word=${word#-}
        local words=${_ferrio_words[$word]-}
        if [[ -n $words ]]; then
            mapfile -t COMPREPLY < <(compgen -W "$words" -- "$value")
        else
            mapfile -t COMPREPLY < <(compgen -f -- "$value")
        fi
        ;;
    -*)
        mapfile -t COMPREPLY < <(compgen -W "$_ferrio_names" -- "$word")
        [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace 2>/dev/null
        ;;
    *)
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        ;;
    esac
}
complete -o filenames -F _ferrio ferrio
