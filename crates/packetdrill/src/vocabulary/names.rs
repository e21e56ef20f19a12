//! The names, from POSIX, RFC 6458 and the interfaces of FreeBSD and Linux, separated by spaces.

/// Options of a script in the language, supported or not.
pub(super) const SCRIPT_OPTIONS: &str = "\
    bind_port code_command code_format code_sockopt connect_port debug define dry_run \
    fm_filename gateway_ip init_scripts ip_version is_anyip local_ip mss mtu netmask_ip \
    non_fatal persistent_tun_dev remote_ip send_omit_free socket_domain so_filename so_flags \
    speed strict_segments tcp_md5_secret psp_udp_port tcp_ts_ecr_scaled tcp_ts_tick_usecs \
    tolerance_percent tolerance_usecs tun_dev udp_encaps udp_encapsulation verbose wire_client \
    wire_client_dev wire_server wire_server_dev wire_server_ip wire_server_port";

/// Calls, each with its permissible numbers of arguments.
pub(super) const CALLS: &[(&str, &[usize])] = &[
    ("accept", &[3]),
    ("accept4", &[4]),
    ("bind", &[3]),
    ("cap_set", &[1]),
    ("close", &[1]),
    ("connect", &[3]),
    ("epoll_create", &[1]),
    ("epoll_create1", &[1]),
    ("epoll_ctl", &[4]),
    ("epoll_wait", &[4]),
    ("fcntl", &[2, 3]),
    ("getpeername", &[3]),
    ("getsockname", &[3]),
    ("getsockopt", &[5]),
    ("ioctl", &[3]),
    ("listen", &[2]),
    ("open", &[2, 3]),
    ("pipe", &[1]),
    ("poll", &[3]),
    ("ppoll", &[4]),
    ("psp_rx_assoc", &[2]),
    ("psp_tx_assoc", &[2]),
    ("read", &[3]),
    ("readv", &[3]),
    ("recv", &[4]),
    ("recvfrom", &[6]),
    ("recvmmsg", &[5]),
    ("recvmsg", &[3]),
    ("sctp_bindx", &[4]),
    ("sctp_connectx", &[3, 4]),
    ("sctp_freeladdrs", &[1]),
    ("sctp_freepaddrs", &[1]),
    ("sctp_getladdrs", &[3]),
    ("sctp_getpaddrs", &[3]),
    ("sctp_peeloff", &[2]),
    ("sctp_recvmsg", &[7]),
    ("sctp_recvv", &[9]),
    ("sctp_send", &[5]),
    ("sctp_sendmsg", &[10]),
    ("sctp_sendv", &[9]),
    ("sctp_sendx", &[7]),
    ("select", &[5]),
    ("send", &[4]),
    ("sendfile", &[4]),
    ("sendmmsg", &[4]),
    ("sendmsg", &[3]),
    ("sendto", &[6]),
    ("setsockopt", &[5]),
    ("shutdown", &[2]),
    ("socket", &[3]),
    ("splice", &[6]),
    ("write", &[3]),
    ("writev", &[3]),
];

/// Calls within an argument: conversions of numbers and addresses.
pub(super) const CONVERSIONS: &str = "htonl htons inet_addr inet_pton";

/// Fields of structs that are not options: messages with their ancillary data (RFC 6458, section
/// 5.3), addresses, notifications (RFC 6458, section 6.1; RFC 6525, section 6.1).
pub(super) const FIELDS: &str = "\
    msg_name msg_iov msg_control msg_flags msg_namelen msg_iovlen msg_controllen iov_base \
    iov_len cmsg_len cmsg_level cmsg_type cmsg_data ee_errno ee_origin ee_type ee_code ee_info \
    ee_data scm_sec scm_nsec fd events revents ptr u32 u64 data sa_family sin_family sin_port \
    sin_addr sin6_family sin6_port sin6_flowinfo sin6_addr sin6_scope_id sinit_num_ostreams \
    sinit_max_instreams sinit_max_attempts sinit_max_init_timeo sinfo_stream sinfo_ssn \
    sinfo_flags sinfo_ppid sinfo_context sinfo_timetolive sinfo_tsn sinfo_cumtsn sinfo_assoc_id \
    sinfo_pr_value serinfo_next_flags serinfo_next_stream serinfo_next_aid serinfo_next_length \
    serinfo_next_ppid snd_sid snd_flags snd_ppid snd_context snd_assoc_id rcv_sid rcv_ssn \
    rcv_flags rcv_ppid rcv_tsn rcv_cumtsn rcv_context rcv_assoc_id nxt_sid nxt_flags nxt_ppid \
    nxt_length nxt_assoc_id pr_policy pr_value pr_assoc_id auth_keynumber auth_keyid sendv_flags \
    sendv_sndinfo sendv_prinfo sendv_authinfo recvv_rcvinfo recvv_nxtinfo sac_type sac_flags \
    sac_length sac_state sac_error sac_outbound_streams sac_inbound_streams sac_assoc_id \
    sac_info spc_type spc_flags spc_length spc_aaddr spc_state spc_error spc_assoc_id sre_type \
    sre_flags sre_length sre_error sre_assoc_id sre_data sse_type sse_flags sse_length \
    sse_assoc_id sai_type sai_flags sai_length sai_adaptation_ind sai_assoc_id pdapi_type \
    pdapi_flags pdapi_length pdapi_indication pdapi_stream pdapi_seq pdapi_assoc_id auth_type \
    auth_flags auth_length auth_altkeynumber auth_indication auth_assoc_id sender_dry_type \
    sender_dry_flags sender_dry_length sender_dry_assoc_id sn_type sn_flags sn_length \
    sn_assoc_id ssf_type ssf_flags ssf_length ssf_error ssf_info ssf_assoc_id ssf_data ssfe_type \
    ssfe_flags ssfe_length ssfe_error ssfe_info ssfe_assoc_id ssfe_data strreset_type \
    strreset_flags strreset_length strreset_assoc_id strreset_stream_list assocreset_type \
    assocreset_flags assocreset_length assocreset_assoc_id assocreset_local_tsn \
    assocreset_remote_tsn strchange_type strchange_flags strchange_length strchange_assoc_id \
    strchange_instrms strchange_outstrms";

/// Numeric options by the level of their call.
pub(super) const PLAIN_OPTIONS: &[(&str, &str)] = &[
    (
        "socket",
        "SO_BINDTODEVICE SO_BUSY_POLL SO_DEBUG SO_ERROR SO_INCOMING_CPU SO_KEEPALIVE SO_MARK \
         SO_MAX_PACING_RATE SO_OOBINLINE SO_PRIORITY SO_RCVBUF SO_RCVBUFFORCE SO_RCVLOWAT \
         SO_RCVTIMEO SO_REUSEADDR SO_REUSEPORT SO_SNDBUF SO_SNDBUFFORCE SO_SNDLOWAT SO_SNDTIMEO \
         SO_TIMESTAMP SO_TIMESTAMPING SO_TXTIME SO_ZEROCOPY",
    ),
    (
        "ip",
        "IP_BIND_ADDRESS_NO_PORT IP_FREEBIND IP_MTU IP_MTU_DISCOVER IP_RECVERR IP_RECVTOS IP_TOS \
         IP_TTL",
    ),
    (
        "ipv6",
        "IPV6_MTU IPV6_MTU_DISCOVER IPV6_RECVERR IPV6_TCLASS IPV6_UNICAST_HOPS IPV6_USE_MIN_MTU \
         IPV6_V6ONLY",
    ),
    ("udp", "UDP_ENCAP"),
    ("udplite", "UDPLITE_RECV_CSCOV UDPLITE_SEND_CSCOV"),
    (
        "tcp",
        "TCP_CC_INFO TCP_CM_INQ TCP_CONGESTION TCP_CORK TCP_DEFER_ACCEPT TCP_FASTOPEN_CONNECT \
         TCP_FASTOPEN_KEY TCP_FASTOPEN_NO_COOKIE TCP_INFO TCP_INQ TCP_KEEPCNT TCP_KEEPIDLE \
         TCP_KEEPINIT TCP_KEEPINTVL TCP_LINEAR_TIMEOUTS TCP_LINGER2 TCP_MAXSEG TCP_MD5SIG \
         TCP_NODELAY TCP_NOOPT TCP_NOPUSH TCP_NOTSENT_LOWAT TCP_QUICKACK TCP_RACK_PACE_ALWAYS \
         TCP_RACK_PACE_MAX_SEG TCP_RACK_PACE_RATE_SS TCP_REMOTE_UDP_ENCAPS_PORT TCP_SAVED_SYN \
         TCP_SAVE_SYN TCP_SYNCNT TCP_THIN_DUPACK TCP_THIN_LINEAR_TIMEOUTS TCP_TIMESTAMP \
         TCP_TX_DELAY TCP_USER_TIMEOUT TCP_WINDOW_CLAMP TCP_ZEROCOPY_RECEIVE",
    ),
    (
        "sctp",
        "SCTP_ACCEPT_ZERO_CHECKSUM SCTP_AUTOCLOSE SCTP_AUTO_ASCONF SCTP_DISABLE_FRAGMENTS \
         SCTP_EXPLICIT_EOR SCTP_FRAGMENT_INTERLEAVE SCTP_GET_ASSOC_NUMBER \
         SCTP_I_WANT_MAPPED_V4_ADDR SCTP_NODELAY SCTP_PARTIAL_DELIVERY_POINT SCTP_RECVNXTINFO \
         SCTP_RECVRCVINFO SCTP_RESET_ASSOC SCTP_REUSE_PORT SCTP_USE_EXT_RCVINFO",
    ),
];

/// Struct options: level, name and fields.
pub(super) const STRUCT_OPTIONS: &[(&str, &str, &str)] = &[
    ("socket", "SO_LINGER", "onoff linger l_onoff l_linger"),
    ("tcp", "TCP_FASTOPEN", "enable psk"),
    ("tcp", "TCP_FUNCTION_BLK", "function_set_name pcbcnt"),
    ("sctp", "SCTP_ADAPTATION_LAYER", "ssb_adaptation_ind"),
    ("sctp", "SCTP_ADD_STREAMS", "sas_assoc_id sas_instrms sas_outstrms"),
    ("sctp", "SCTP_ASCONF_SUPPORTED", "assoc_id assoc_value"),
    (
        "sctp",
        "SCTP_ASSOCINFO",
        "sasoc_assoc_id sasoc_asocmaxrxt sasoc_number_peer_destinations sasoc_peer_rwnd \
         sasoc_local_rwnd sasoc_cookie_life",
    ),
    ("sctp", "SCTP_AUTH_ACTIVE_KEY", "scact_assoc_id scact_keynumber"),
    ("sctp", "SCTP_AUTH_CHUNK", "sauth_chunk"),
    ("sctp", "SCTP_AUTH_DEACTIVATE_KEY", "scact_assoc_id scact_keynumber"),
    ("sctp", "SCTP_AUTH_DELETE_KEY", "scact_assoc_id scact_keynumber"),
    ("sctp", "SCTP_AUTH_KEY", "sca_assoc_id sca_keynumber sca_keylength sca_key"),
    ("sctp", "SCTP_AUTH_SUPPORTED", "assoc_id assoc_value"),
    ("sctp", "SCTP_CONTEXT", "assoc_id assoc_value"),
    ("sctp", "SCTP_DEFAULT_PRINFO", "pr_policy pr_value pr_assoc_id"),
    (
        "sctp",
        "SCTP_DEFAULT_SEND_PARAM",
        "sinfo_stream sinfo_ssn sinfo_flags sinfo_ppid sinfo_context sinfo_timetolive \
         sinfo_tsn sinfo_cumtsn sinfo_assoc_id sinfo_pr_value",
    ),
    ("sctp", "SCTP_DEFAULT_SNDINFO", "snd_sid snd_flags snd_ppid snd_context snd_assoc_id"),
    ("sctp", "SCTP_DELAYED_SACK", "sack_assoc_id sack_delay sack_freq"),
    ("sctp", "SCTP_ECN_SUPPORTED", "assoc_id assoc_value"),
    ("sctp", "SCTP_ENABLE_STREAM_RESET", "assoc_id assoc_value"),
    ("sctp", "SCTP_EVENT", "se_assoc_id se_type se_on"),
    (
        "sctp",
        "SCTP_EVENTS",
        "sctp_data_io_event sctp_association_event sctp_address_event \
         sctp_send_failure_event sctp_peer_error_event sctp_shutdown_event \
         sctp_partial_delivery_event sctp_adaptation_layer_event \
         sctp_authentication_event sctp_sender_dry_event sctp_stream_reset_event",
    ),
    ("sctp", "SCTP_EXPOSE_POTENTIALLY_FAILED_STATE", "assoc_id assoc_value"),
    ("sctp", "SCTP_GET_ASSOC_ID_LIST", "gaids_number_of_ids gaids_assoc_id"),
    (
        "sctp",
        "SCTP_GET_PEER_ADDR_INFO",
        "spinfo_assoc_id spinfo_address spinfo_state spinfo_cwnd spinfo_srtt spinfo_rto \
         spinfo_mtu",
    ),
    ("sctp", "SCTP_HMAC_IDENT", "shmac_number_of_idents shmac_idents"),
    (
        "sctp",
        "SCTP_INITMSG",
        "sinit_num_ostreams sinit_max_instreams sinit_max_attempts sinit_max_init_timeo",
    ),
    ("sctp", "SCTP_INTERLEAVING_SUPPORTED", "assoc_id assoc_value"),
    ("sctp", "SCTP_LOCAL_AUTH_CHUNKS", "gauth_assoc_id gauth_number_of_chunks gauth_chunks"),
    ("sctp", "SCTP_MAXSEG", "assoc_id assoc_value"),
    ("sctp", "SCTP_MAX_BURST", "assoc_id assoc_value"),
    ("sctp", "SCTP_NRSACK_SUPPORTED", "assoc_id assoc_value"),
    (
        "sctp",
        "SCTP_PEER_ADDR_PARAMS",
        "spp_assoc_id spp_address spp_hbinterval spp_pathmaxrxt spp_pathmtu spp_flags \
         spp_ipv6_flowlabel spp_dscp spp_sackdelay",
    ),
    ("sctp", "SCTP_PEER_ADDR_THLDS", "spt_assoc_id spt_address spt_pathmaxrxt spt_pathpfthld"),
    ("sctp", "SCTP_PEER_AUTH_CHUNKS", "gauth_assoc_id gauth_number_of_chunks gauth_chunks"),
    ("sctp", "SCTP_PKTDROP_SUPPORTED", "assoc_id assoc_value"),
    ("sctp", "SCTP_PLUGGABLE_CC", "assoc_id assoc_value"),
    ("sctp", "SCTP_PLUGGABLE_SS", "assoc_id assoc_value"),
    ("sctp", "SCTP_PRIMARY_ADDR", "ssp_assoc_id ssp_addr"),
    ("sctp", "SCTP_PR_ASSOC_STATUS", "sprstat_assoc_id sprstat_sid sprstat_policy"),
    ("sctp", "SCTP_PR_STREAM_STATUS", "sprstat_assoc_id sprstat_sid sprstat_policy"),
    ("sctp", "SCTP_PR_SUPPORTED", "assoc_id assoc_value"),
    ("sctp", "SCTP_RECONFIG_SUPPORTED", "assoc_id assoc_value"),
    ("sctp", "SCTP_REMOTE_UDP_ENCAPS_PORT", "sue_assoc_id sue_address sue_port"),
    ("sctp", "SCTP_RESET_STREAMS", "srs_assoc_id srs_flags srs_number_streams srs_stream_list"),
    ("sctp", "SCTP_RTOINFO", "srto_assoc_id srto_initial srto_max srto_min"),
    ("sctp", "SCTP_SET_PEER_PRIMARY_ADDR", "sspp_assoc_id sspp_addr"),
    (
        "sctp",
        "SCTP_STATUS",
        "sstat_assoc_id sstat_state sstat_rwnd sstat_unackdata sstat_penddata \
         sstat_instrms sstat_outstrms sstat_fragmentation_point sstat_primary \
         spinfo_assoc_id spinfo_address spinfo_state spinfo_cwnd spinfo_srtt spinfo_rto \
         spinfo_mtu",
    ),
    ("sctp", "SCTP_STREAM_SCHEDULER", "assoc_id assoc_value"),
    ("sctp", "SCTP_STREAM_SCHEDULER_VALUE", "assoc_id stream_id stream_value"),
];

/// Constants that are not options and have no number in [`constant`](super::constant).
pub(super) const NAMES: &str = "\
    AF_INET AF_INET6 AF_UNSPEC PF_INET PF_INET6 CMSG_LEVEL_IP CMSG_TYPE_RECVERR ECONNREFUSED \
    ECONNRESET EHOSTUNREACH EMSGSIZE ENOMSG ETIMEDOUT ENETUNREACH EPROTO ECONNABORTED \
    ENOPROTOOPT EPIPE EACCES EPOLLERR EPOLLET EPOLLEXCLUSIVE EPOLLHUP EPOLLIN EPOLLONESHOT \
    EPOLLOUT EPOLLRDHUP EPOLL_CTL_ADD EPOLL_CTL_DEL EPOLL_CTL_MOD F_GETFL F_SETFL F_GETFD \
    F_SETFD FIONREAD FIONBIO SIOCATMARK SIOCINQ SIOCOUTQ SIOCOUTQNSD ICMP6_PACKET_TOO_BIG \
    ICMP_UNREACH ICMP_UNREACH_NEEDFRAG MSG_CTRUNC MSG_DONTWAIT MSG_EOF MSG_EOR MSG_ERRQUEUE \
    MSG_FASTOPEN MSG_MORE MSG_NOSIGNAL MSG_NOTIFICATION MSG_OOB MSG_PEEK MSG_TRUNC MSG_WAITALL \
    MSG_ZEROCOPY NULL POLLRDHUP SCM_TIMESTAMPING SCM_TSTAMP_ACK SCM_TSTAMP_SCHED SCM_TSTAMP_SND \
    SOCK_CLOEXEC SOCK_DGRAM SOCK_NONBLOCK SOCK_RAW SOCK_SEQPACKET SOCK_STREAM \
    SOF_TIMESTAMPING_OPT_CMSG SOF_TIMESTAMPING_OPT_ID SOF_TIMESTAMPING_OPT_TSONLY \
    SOF_TIMESTAMPING_RX_SOFTWARE SOF_TIMESTAMPING_SOFTWARE SOF_TIMESTAMPING_TX_ACK \
    SOF_TIMESTAMPING_TX_SCHED SOF_TIMESTAMPING_TX_SOFTWARE SO_EE_CODE_ZEROCOPY_COPIED \
    SO_EE_ORIGIN_ICMP SO_EE_ORIGIN_ICMP6 SO_EE_ORIGIN_LOCAL SO_EE_ORIGIN_TIMESTAMPING \
    SO_EE_ORIGIN_ZEROCOPY SCTP_INIT SCTP_SNDRCV SCTP_EXTRCV SCTP_SNDINFO SCTP_RCVINFO \
    SCTP_NXTINFO SCTP_PRINFO SCTP_AUTHINFO SCTP_DSTADDRV4 SCTP_DSTADDRV6 SCTP_SENDV_NOINFO \
    SCTP_SENDV_SNDINFO SCTP_SENDV_PRINFO SCTP_SENDV_AUTHINFO SCTP_SENDV_SPA SCTP_RECVV_NOINFO \
    SCTP_RECVV_RCVINFO SCTP_RECVV_NXTINFO SCTP_RECVV_RN SCTP_PR_SCTP_NONE SCTP_PR_SCTP_TTL \
    SCTP_PR_SCTP_RTX SCTP_PR_SCTP_PRIO SCTP_PR_SCTP_BUF SCTP_PR_SCTP_ALL SCTP_ABORT \
    SCTP_ADDR_OVER SCTP_COMPLETE SCTP_EOF SCTP_EOR SCTP_SENDALL SCTP_NEXT_MSG_AVAIL \
    SCTP_NEXT_MSG_ISCOMPLETE SCTP_NEXT_MSG_IS_NOTIFICATION SCTP_NEXT_MSG_IS_UNORDERED \
    SCTP_NOTIFICATION SCTP_FUTURE_ASSOC SCTP_CURRENT_ASSOC SCTP_ALL_ASSOC SCTP_BINDX_ADD_ADDR \
    SCTP_BINDX_REM_ADDR SCTP_CLOSED SCTP_BOUND SCTP_LISTEN SCTP_COOKIE_WAIT SCTP_COOKIE_ECHOED \
    SCTP_ESTABLISHED SCTP_SHUTDOWN_PENDING SCTP_SHUTDOWN_SENT SCTP_SHUTDOWN_RECEIVED \
    SCTP_SHUTDOWN_ACK_SENT SCTP_ACTIVE SCTP_INACTIVE SCTP_UNCONFIRMED SCTP_POTENTIALLY_FAILED \
    SCTP_ASSOC_CHANGE SCTP_PEER_ADDR_CHANGE SCTP_REMOTE_ERROR SCTP_SEND_FAILED \
    SCTP_SEND_FAILED_EVENT SCTP_SHUTDOWN_EVENT SCTP_ADAPTATION_INDICATION \
    SCTP_PARTIAL_DELIVERY_EVENT SCTP_AUTHENTICATION_EVENT SCTP_SENDER_DRY_EVENT \
    SCTP_NOTIFICATIONS_STOPPED_EVENT SCTP_STREAM_RESET_EVENT SCTP_ASSOC_RESET_EVENT \
    SCTP_STREAM_CHANGE_EVENT SCTP_COMM_UP SCTP_COMM_LOST SCTP_RESTART SCTP_SHUTDOWN_COMP \
    SCTP_CANT_STR_ASSOC SCTP_ADDR_AVAILABLE SCTP_ADDR_UNREACHABLE SCTP_ADDR_REMOVED \
    SCTP_ADDR_ADDED SCTP_ADDR_MADE_PRIM SCTP_ADDR_CONFIRMED SCTP_ADDR_PF SCTP_ASSOC_SUPPORTS_PR \
    SCTP_ASSOC_SUPPORTS_AUTH SCTP_ASSOC_SUPPORTS_ASCONF SCTP_ASSOC_SUPPORTS_MULTIBUF \
    SCTP_ASSOC_SUPPORTS_RE_CONFIG SCTP_ASSOC_SUPPORTS_INTERLEAVING SCTP_DATA_SENT \
    SCTP_DATA_UNSENT SCTP_PARTIAL_DELIVERY_ABORTED SCTP_AUTH_NEW_KEY SCTP_AUTH_NO_AUTH \
    SCTP_AUTH_FREE_KEY SCTP_AUTH_HMAC_ID_SHA1 SCTP_AUTH_HMAC_ID_SHA256 SPP_DSCP \
    SPP_IPV6_FLOWLABEL SPP_HB_TIME_IS_ZERO SPP_SACKDELAY_ENABLE SPP_SACKDELAY_DISABLE";

/// Errors (POSIX, errno.h), and those that systems add.
pub(super) const ERRORS: &str = "\
    E2BIG EACCES EADDRINUSE EADDRNOTAVAIL EAFNOSUPPORT EAGAIN EALREADY EBADF EBADMSG EBUSY \
    ECANCELED ECONNABORTED ECONNREFUSED ECONNRESET EDESTADDRREQ EDOM EDQUOT EEXIST EFAULT EFBIG \
    EHOSTDOWN EHOSTUNREACH EINPROGRESS EINTR EINVAL EIO EISCONN EISDIR ELOOP EMFILE EMLINK \
    EMSGSIZE ENAMETOOLONG ENETDOWN ENETRESET ENETUNREACH ENFILE ENOBUFS ENODATA ENODEV ENOENT \
    ENOKEY ENOMEM ENOMSG ENOPROTOOPT ENOSPC ENOSYS ENOTCONN ENOTDIR ENOTEMPTY ENOTSOCK ENOTSUP \
    ENXIO EOPNOTSUPP EOVERFLOW EPERM EPIPE EPROTO EPROTONOSUPPORT EPROTOTYPE ERANGE EROFS \
    ESHUTDOWN ESPIPE ESRCH ESTALE ETIME ETIMEDOUT ETXTBSY EWOULDBLOCK EXDEV";
