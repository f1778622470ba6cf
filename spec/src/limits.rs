//! Every bound of the system, with its unit in its name. Anything that can grow is bounded by a constant here.

/// Bytes in a kibibyte.
pub const KIB: usize = 1024;
/// Bytes in a mebibyte.
pub const MIB: usize = 1024 * KIB;

/// Wall time of one execution, unless the caller says otherwise.
pub const WALL_MS_DEFAULT: u64 = 60_000;
/// The most wall time a caller may request.
pub const WALL_MS_MAX: u64 = 600_000;
/// The least wall time a caller may request.
pub const WALL_MS_MIN: u64 = 1;
/// Processor time of one execution, all turns together.
pub const CPU_MS_DEFAULT: u64 = 10_000;
/// The most processor time an embedder may grant.
pub const CPU_MS_MAX: u64 = 120_000;
/// Interval at which a running turn is interrupted to check its deadlines.
pub const TICK_MS: u64 = 10;

/// Linear memory of one sandbox, its stack and the engine included.
pub const MEMORY_BYTES_MAX: usize = 256 * MIB;
/// The guest's own stack for parsing and evaluating, part of the linear memory.
pub const GUEST_STACK_BYTES: usize = 16 * MIB;
/// Native stack that wasm may use in one turn.
pub const WASM_STACK_BYTES_MAX: usize = 4 * MIB;
/// Native stack of a thread on which turns run.
pub const TURN_THREAD_STACK_BYTES: usize = 8 * MIB;
/// Values on the engine's own stack: arguments, locals, spread arrays.
pub const ENGINE_STACK_VALUES_MAX: usize = 200_000;
/// Failed calls whose error objects are remembered by identity, so that an uncaught one is recognised.
pub const FAILED_CALLS_REMEMBERED: usize = 64;
/// Causes of a thrown error that are reported.
pub const ERROR_CAUSES_MAX: usize = 5;
/// Call depth beyond which a script fails with a recursion error.
pub const RECURSION_DEPTH_MAX: usize = 1_024;

/// Source text of one script, fences and prose included.
pub const SOURCE_BYTES_MAX: usize = MIB;
/// Tokens in one source: its syntax tree takes about two hundred bytes per token.
pub const SOURCE_TOKENS_MAX: usize = 125_000;
/// Nested brackets, functions and blocks in a source.
pub const SOURCE_NESTING_MAX: usize = 400;
/// Source text of the layers of all namespaces of a host: it occupies memory in every sandbox.
pub const LAYERS_BYTES_MAX: usize = MIB;
/// Compiled images of the sandbox in one folder, of about 20 MiB each; those used longest ago are removed.
pub const IMAGES_CACHED_MAX: usize = 8;
/// Iterations of one loop in a layer while the image is built, so that an endless loop is not mistaken for a slow
/// machine.
pub const LAYER_LOOP_TURNS_MAX: u64 = 1_000_000;
/// Nesting depth of arrays, objects, maps and sets in a value that crosses the boundary. Values are walked recursively:
/// this depth fits the 2 MiB stack of an async worker even in an unoptimised build.
pub const VALUE_DEPTH_MAX: usize = 256;

/// Provider calls that run at the same time in one execution; further ones wait for their turn.
pub const CALLS_OUTSTANDING_MAX: usize = 256;
/// Provider calls that one execution may make.
pub const CALLS_PER_EXECUTION_MAX: u32 = 10_000;
/// Characters of a method's name. A longer name is never that of an existing method.
pub const METHOD_NAME_CHARS_MAX: usize = 128;
/// Time that one protocol call may take, unless the script says otherwise.
pub const CALL_TIMEOUT_MS_DEFAULT: u64 = 10_000;
/// Encoded arguments of one call.
pub const ARGUMENT_BYTES_MAX: usize = 4 * MIB;
/// Memory of a call in addition to its arguments; includes its names.
pub const CALL_BYTES: usize = 2 * KIB;
/// Memory of calls that have left the sandbox and have not started, all calls of one execution together.
pub const WAITING_CALLS_BYTES_MAX: usize = ARGUMENT_BYTES_MAX + CALL_BYTES;
/// Host memory for the arguments of running calls, all calls of one execution together. Further calls wait until there
/// is room.
pub const ARGUMENTS_WEIGHT_MAX: usize = 8 * MIB;
/// Arguments of at most this weight do not wait for other executions: a call that waits for an event must not block the
/// call that triggers the event.
pub const ARGUMENTS_WEIGHT_FREE: usize = 4 * KIB;
/// Weight of the arguments of all running calls in one host.
pub const HOST_ARGUMENTS_WEIGHT_MAX: usize = 128 * MIB;
/// Encoded reply to one call.
pub const REPLY_BYTES_MAX: usize = 9 * MIB;
/// Replies delivered to one turn: one of any size, and further ones while their total stays within this bound.
pub const TURN_REPLIES_BYTES_MAX: usize = MIB / 4;
/// Replies of browsers that no turn has taken yet, in one host.
pub const HOST_REPLIES_BYTES_MAX: usize = 256 * MIB;
/// Time that a call or a reply waits for host memory before the call fails. Shorter than [`RELAY_STALL_MS`], after
/// which the relay disconnects a host that does not read.
pub const ROOM_WAIT_MS_MAX: u64 = 2_000;
/// Encoded result of a script.
pub const RESULT_BYTES_MAX: usize = 16 * MIB;
/// Host memory of a result while it is shaped. Calls, replies and events have been released by then.
pub const RESULT_WEIGHT_MAX: usize = 60 * MIB;
/// The message with which one turn of a sandbox ends.
pub const TURN_BYTES_MAX: usize = RESULT_BYTES_MAX + 2 * MIB;
/// Distinct object keys within one value that the codec can replace by an index.
pub const CODEC_KEYS_MAX: usize = 4_096;
/// Host memory of one execution, beside its sandbox, while its script runs: the arguments of waiting and of running
/// calls; one command as text and again at the relay; one reply at the relay, one being read, one waiting, and one
/// entering the sandbox together with small ones; events; the trace; and a mebibyte for everything small.
pub const EXECUTION_BYTES_MAX: usize = WAITING_CALLS_BYTES_MAX
    + ARGUMENTS_WEIGHT_MAX
    + 2 * CDP_COMMAND_BYTES_MAX
    + 4 * REPLY_BYTES_MAX
    + TURN_REPLIES_BYTES_MAX
    + EVENT_RING_BYTES_MAX
    + POPUP_RING_BYTES_MAX
    + TRACE_BYTES_MAX
    + MIB;
/// State that a namespace may store for a suspended execution; data does not belong there.
pub const SUSPENDED_BYTES_MAX: usize = MIB;
/// Timers that one script may have pending.
pub const TIMERS_PENDING_MAX: usize = 10_000;

/// Console text stored for one execution: half for its beginning, half for its end; bytes in between are counted.
pub const CONSOLE_BYTES_KEPT: usize = 64 * KIB;
/// Text of one console line; longer ones are cut.
pub const CONSOLE_LINE_BYTES_MAX: usize = 8 * KIB;
/// Unhandled rejections and uncaught errors reported for one execution; further ones are counted.
pub const UNHANDLED_REJECTIONS_MAX: usize = 10;
/// Warnings in one answer.
pub const WARNINGS_MAX: usize = 32;

/// Characters of a result that reach the model unless the caller says otherwise, about 6,000 tokens.
pub const RESULT_CHARS_DEFAULT: usize = 24_000;
/// The most characters that a caller may request.
pub const RESULT_CHARS_MAX: usize = 10 * RESULT_CHARS_DEFAULT;
/// The fewest characters that a caller may request: the outermost level of any result can be summarised in them.
pub const RESULT_CHARS_MIN: usize = 200;
/// Characters of the stored console lines that reach the model.
pub const LOG_CHARS_MAX: usize = 8_000;
/// Images in one answer.
pub const IMAGES_MAX: usize = 8;
/// Bytes of all images in one answer, before base64.
pub const IMAGE_BYTES_MAX: usize = 10 * MIB;
/// Files in one answer for the non-text data of its result, and as many for that of its console lines.
pub const DATA_FILES_MAX: usize = 16;
/// Characters of the path that an answer gives for an image or such a file; a longer one is cut.
pub const DATA_PATH_CHARS_MAX: usize = 1_000;
/// Size up to which a raw result that was cut for the model is stored whole as an artifact.
pub const ARTIFACT_BYTES_MAX: usize = 32 * MIB;
/// Time for which artifacts and downloads are stored.
pub const FILES_KEPT_MS: u64 = 7 * 24 * 3_600_000;
/// Cuts listed one by one in a truncated result; the rest is counted.
pub const CUTS_LISTED_MAX: usize = 64;
/// Text of an error message, of a hint, or of one fact of an error's details.
pub const ERROR_TEXT_CHARS_MAX: usize = 4_000;
/// Text of all facts of an error's details, their names included.
pub const ERROR_DETAILS_CHARS_MAX: usize = 4 * ERROR_TEXT_CHARS_MAX;
/// Faults of one request or of one call's arguments that are listed; a reader needs no more.
pub const FAULTS_LISTED_MAX: usize = 20;
/// Text of one fault.
pub const FAULT_CHARS_MAX: usize = 500;
/// Characters of a caller's or an operator's value or name that a fault repeats.
pub const FAULT_ECHO_CHARS_MAX: usize = 100;

/// One message of an MCP client: the longest source, each byte of which may take six in JSON, and room for the rest.
pub const MCP_LINE_BYTES_MAX: usize = 8 * MIB;
/// Unanswered requests of one MCP client; one more is refused.
pub const MCP_REQUESTS_MAX: usize = 1_024;
/// Ids of cancelled requests of one MCP client that are remembered, so that they are not reused.
pub const MCP_CANCELLED_IDS_MAX: usize = 1_024;

/// Connections of HTTP clients at the same time; further ones wait to be accepted.
pub const HTTP_CONNECTIONS_MAX: usize = 512;
/// Headers of one HTTP request.
pub const HTTP_HEADERS_MAX: usize = 100;
/// Request line and headers of one HTTP request.
pub const HTTP_HEAD_BYTES_MAX: usize = 64 * KIB;
/// Time in which the head of an HTTP request must arrive, on a new connection as well as after an answer.
pub const HTTP_HEAD_MS_MAX: u64 = 30_000;
/// Body of one HTTP request: one message of MCP.
pub const HTTP_BODY_BYTES_MAX: usize = MCP_LINE_BYTES_MAX;
/// Time in which the body of an HTTP request must arrive, once it has been admitted.
pub const HTTP_BODY_MS_MAX: u64 = 30_000;
/// Bodies of HTTP requests that are read at the same time, all together; a body for which there is no room waits.
pub const HTTP_BODIES_BYTES_MAX: usize = 8 * HTTP_BODY_BYTES_MAX;
/// Time for which an HTTP client may fail to read what is sent to it.
pub const HTTP_STALL_MS_MAX: u64 = 30_000;
/// Sessions of MCP over HTTP that one caller has at the same time; one more ends the least recently used.
pub const MCP_SESSIONS_PER_CALLER_MAX: usize = 64;
/// Time after which an unused session of MCP over HTTP ends: longer than an execution may take.
pub const MCP_SESSION_IDLE_MS_MAX: u64 = 3 * WALL_MS_MAX;
/// Named tokens of one host.
pub const TOKENS_MAX: usize = 64;
/// The fewest characters of a token: a shorter one might be guessed.
pub const TOKEN_CHARS_MIN: usize = 32;
/// The most characters of a token.
pub const TOKEN_CHARS_MAX: usize = 512;
/// Size of the token file.
pub const TOKENS_FILE_BYTES_MAX: usize = 256 * KIB;
/// Time that running executions have to end when their host shuts down, unless the operator says otherwise.
pub const SERVE_GRACE_MS_DEFAULT: u64 = 10_000;
/// The longest such time that an operator may set.
pub const SERVE_GRACE_MS_MAX: u64 = WALL_MS_MAX;

/// Executions that run at the same time in one host.
pub const EXECUTIONS_CONCURRENT_MAX: usize = 32;
/// Executions without a script that are open at the same time in one host: half of the permits are left for scripts.
pub const DIRECT_EXECUTIONS_MAX: usize = EXECUTIONS_CONCURRENT_MAX / 2;
/// Lifetime of an execution without a script; the next call of its surface starts another one.
pub const DIRECT_MS_MAX: u64 = 6 * 60 * 60 * 1_000;
/// Time without a call of its surface after which such an execution ends.
pub const DIRECT_IDLE_MS: u64 = 5 * 60 * 1_000;
/// Files that such an execution stores for its client; one more evicts the oldest.
pub const DIRECT_FILES_MAX: usize = 64;
/// Timeout of a call of its surface where the surface's contract specifies none.
pub const DIRECT_NAVIGATE_MS: u64 = VERB_TIMEOUT_MS;
/// Files that a client uploads to a page at once.
pub const UPLOAD_FILES_MAX: usize = 32;
/// Bytes of such files, all together: they are one argument of a call.
pub const UPLOAD_BYTES_MAX: usize = 3 * MIB;
/// Time in which a tab must settle after an action of ABP, unless the client says otherwise.
pub const ABP_WAIT_MS: u64 = 30_000;
/// The longest such time that a client may request.
pub const ABP_WAIT_MS_MAX: u64 = 120_000;
/// The longest pause of ABP.
pub const ABP_PAUSE_MS_MAX: u64 = 60_000;
/// Open file choosers that a client of ABP can answer; only the latest are retained.
pub const ABP_CHOOSERS_MAX: usize = 64;
/// Downloads that are reported to a client of ABP; only the latest are retained.
pub const ABP_DOWNLOADS_MAX: usize = 256;
/// Bytes of the answer to a call of one of ABP's tools, including its pictures.
pub const ABP_TOOL_BYTES_MAX: usize = 16 * MIB;
/// Browsers that clients of ABP have handed over to people at the same time.
pub const ABP_PERSONS_MAX: usize = 64;
/// Bytes of the parameters of an ABP action that its history stores.
pub const ABP_PARAMS_BYTES_MAX: usize = 8 * KIB;
/// Bytes of a pattern by which requests in the history are searched.
pub const ABP_PATTERN_BYTES_MAX: usize = 256;
/// Bytes of the body of one request in the history.
pub const ABP_BODY_BYTES_MAX: usize = 64 * KIB;
/// Bytes of all bodies in one answer that lists requests.
pub const ABP_BODIES_BYTES_MAX: usize = 4 * MIB;
/// Sessions in the history, all clients together; only the latest are retained.
pub const HISTORY_SESSIONS_MAX: usize = 200;
/// Actions of one session in the history; only the latest are retained.
pub const HISTORY_ACTIONS_MAX: usize = 1_000;
/// Actions of one session that have pictures in the history; only the latest do.
pub const HISTORY_PICTURES_MAX: usize = 64;
/// Bytes of one such picture.
pub const HISTORY_PICTURE_BYTES_MAX: usize = MIB;
/// Events of one session in the history; only the latest are retained.
pub const HISTORY_EVENTS_MAX: usize = 5_000;
/// Requests of one session in the history; only the latest are retained.
pub const HISTORY_CALLS_MAX: usize = 1_000;
/// Bytes of the history's file; beyond them, the oldest session is removed.
pub const HISTORY_FILE_BYTES_MAX: usize = 512 * MIB;
/// Tabs of one client of the vNext contract.
pub const VNEXT_PAGES_MAX: usize = 256;
/// Timeout of an action of the vNext contract that specifies none.
pub const VNEXT_ACT_MS: u64 = 8_000;
/// The shortest timeout of an action.
pub const VNEXT_ACT_MS_MIN: u64 = 500;
/// The longest timeout of an action.
pub const VNEXT_ACT_MS_MAX: u64 = 60_000;
/// Timeout of a wait of the vNext contract that specifies none.
pub const VNEXT_WAIT_MS: u64 = 20_000;
/// The shortest timeout of a wait.
pub const VNEXT_WAIT_MS_MIN: u64 = 500;
/// The longest timeout of a wait.
pub const VNEXT_WAIT_MS_MAX: u64 = 120_000;
/// How long a hook of the vNext contract stays armed: both the longest time and the default.
pub const VNEXT_HOOK_MS: u64 = 120_000;
/// The shortest time for which a hook stays armed.
pub const VNEXT_HOOK_MS_MIN: u64 = 500;
/// Pixels of the longer side of a screenshot of the vNext contract.
pub const VNEXT_SCREENSHOT_SIDE_MAX: u32 = 2_000;
/// Bytes of such a screenshot.
pub const VNEXT_SCREENSHOT_BYTES_MAX: usize = 5 * MIB;
/// Characters of a snapshot of the vNext contract.
pub const VNEXT_SNAPSHOT_CHARS: usize = 80_000;
/// Nodes in the vNext contract's list of a page's contents, unless the client says otherwise.
pub const VNEXT_ARIA_NODES: usize = 500;
/// The most nodes of that list.
pub const VNEXT_ARIA_NODES_MAX: usize = 2_000;
/// Lines of a page's console that the vNext contract reports.
pub const VNEXT_CONSOLE_LINES_MAX: usize = 500;
/// Executions that wait for admission; one more is refused.
pub const EXECUTIONS_QUEUED_MAX: usize = 64;
/// Browser sessions that exist at the same time in one state folder, all hosts together.
pub const SESSIONS_MAX: usize = 64;
/// Characters of a session's key.
pub const SESSION_KEY_CHARS_MAX: usize = 128;
/// Idle time after which a shared browser is closed, unless the caller says otherwise.
pub const SESSION_IDLE_MS_DEFAULT: u64 = 600_000;
/// The shortest idle time that a caller may request.
pub const SESSION_IDLE_MS_MIN: u64 = 1_000;
/// The longest idle time that a caller may request.
pub const SESSION_IDLE_MS_MAX: u64 = 24 * 3_600_000;
/// Time after which the record of an ended session is deleted, unless the operator says otherwise.
pub const SESSION_ABANDONED_MS: u64 = 24 * 3_600_000;
/// Time for which the profile and the cookies of an unused key are stored, unless the operator says otherwise.
pub const LOGINS_KEPT_MS: u64 = 30 * 24 * 3_600_000;
/// Interval at which a host looks for sessions that no execution may use any more.
pub const SESSION_SWEEP_MS: u64 = 60_000;
/// Time after which a lease expires unless it is renewed.
pub const LEASE_TTL_MS: u64 = 30_000;
/// How often a lease is renewed.
pub const LEASE_RENEW_MS: u64 = 5_000;
/// Time that an execution waits for a browser in use, unless the caller says otherwise.
pub const LEASE_WAIT_MS_DEFAULT: u64 = 30_000;
/// The most time that a caller may wait for a browser in use.
pub const LEASE_WAIT_MS_MAX: u64 = WALL_MS_MAX;
/// Time after which a waiter that has not renewed its place in the queue counts as gone.
pub const LEASE_WAITER_TTL_MS: u64 = 3_000;
/// How often a waiter renews its place.
pub const LEASE_WAITER_RENEW_MS: u64 = 1_000;
/// Time limit for an operator's request to end a browser and to remove the stored data of its key.
pub const OPERATION_MS_MAX: u64 = 60_000;
/// Part of an execution's time, at most a quarter, that is not spent on waiting for a browser: enough to report why
/// none was acquired.
pub const LEASE_WAIT_SPARE_MS: u64 = 3_000;
/// Executions that wait for the same browser; one more is refused.
pub const LEASE_WAITERS_MAX: u32 = 64;
/// Cookies stored for one key.
pub const COOKIES_BYTES_MAX: usize = 8 * MIB;
/// Notes that an execution leaves for the next one that uses the browser of the same key.
pub const NOTES_BYTES_MAX: usize = MIB / 2;
/// Rows of the audit; older rows are removed, and a checkpoint records which. Rows are not removed by age, because a
/// user could then remove them by setting the clock.
pub const AUDIT_ROWS_MAX: u64 = 200_000;
/// The fewest rows to which an operator may limit the audit.
pub const AUDIT_ROWS_MIN: u64 = 1_000;
/// Divides the allowed rows into parts, one of which is removed at a time: each removal costs a checkpoint.
pub const AUDIT_ROWS_PARTS: u64 = 10;
/// How long an audit row about an execution may wait to be written in a batch with others. A host that is killed loses
/// the waiting rows.
pub const AUDIT_GATHER_MS: u64 = 10;
/// Rows of the audit in one answer, unless the caller says otherwise.
pub const AUDIT_ROWS_SHOWN: usize = 1_000;
/// Rows of the audit in one answer over HTTP; a further request returns earlier ones.
pub const AUDIT_ROWS_ANSWERED_MAX: usize = AUDIT_ROWS_SHOWN;
/// Executions in one list, unless the caller says otherwise.
pub const EXECUTIONS_LISTED: usize = 100;
/// Executions in one list over HTTP; a further request returns earlier ones.
pub const EXECUTIONS_ANSWERED_MAX: usize = 500;
/// Files of answers that are sent to operators at the same time: each is held in memory as a whole. Further ones wait.
pub const ADMIN_FILES_SENT_MAX: usize = 4;
/// Source text that the trace of one execution stores for operators; the rest is counted.
pub const TRACE_CODE_BYTES_MAX: usize = 64 * KIB;
/// The latest calls in the trace of one execution, including the overhead of each.
pub const TRACE_CALLS_BYTES_MAX: usize = 48 * KIB;
/// The latest console lines in the trace of one execution, including the overhead of each.
pub const TRACE_LOGS_BYTES_MAX: usize = 64 * KIB;
/// Overhead of a call or a console line of a trace, in addition to its text.
pub const TRACE_ENTRY_BYTES: usize = 96;
/// The trace of one execution.
pub const TRACE_BYTES_MAX: usize = TRACE_CODE_BYTES_MAX + TRACE_CALLS_BYTES_MAX + TRACE_LOGS_BYTES_MAX + KIB;
/// Traces of executions that have ended; the oldest are evicted first.
pub const TRACES_ENDED_MAX: usize = 200;
/// All traces of executions that have ended.
pub const TRACES_ENDED_BYTES_MAX: usize = 16 * MIB;
/// Executions whose pages operators watch at the same time in one host.
pub const VIEWS_MAX: usize = 4;
/// Requests for a picture of a page that wait at the same time.
pub const VIEW_REQUESTS_MAX: usize = 32;
/// Time that such a request waits for a new picture.
pub const VIEW_WAIT_MS_MAX: u64 = 10_000;
/// Time without a request for a page's picture after which the page is no longer captured: longer than a request waits.
pub const VIEW_IDLE_MS: u64 = VIEW_WAIT_MS_MAX + 5_000;
/// The least time between two pictures of a page.
pub const VIEW_PICTURE_MS_MIN: u64 = 100;
/// Interval at which the host checks which page an operator should see.
pub const VIEW_LOOK_MS: u64 = 250;
/// Pixels of a picture's width.
pub const VIEW_WIDTH_MAX: u32 = 800;
/// Pixels of a picture's height.
pub const VIEW_HEIGHT_MAX: u32 = 600;
/// Pictures of one page that the host holds: the browser captures the next one once the last one was taken.
pub const VIEW_RING_BYTES_MAX: usize = 2 * MIB;
/// Length of the queue of spans for a collector, and of that of log records. Entries that do not fit are dropped.
pub const OTLP_QUEUE_MAX: usize = 2_048;
/// Spans or records in one request to a collector.
pub const OTLP_BATCH_MAX: usize = 512;
const _: () = assert!(OTLP_BATCH_MAX <= OTLP_QUEUE_MAX);
/// Interval at which a queue with less than one batch is exported.
pub const OTLP_INTERVAL_MS: u64 = 2_000;
/// Timeout of one attempt to export a batch. Retries start within this time, so a batch takes at most twice as long.
pub const OTLP_REQUEST_MS_MAX: u64 = 5_000;
/// The response of a collector.
pub const OTLP_ANSWER_BYTES_MAX: usize = 64 * KIB;
/// How long the program waits for the last exports before it exits.
pub const OTLP_FLUSH_MS_MAX: u64 = 2_000;
/// A `traceparent` or `tracestate` of W3C Trace Context that a client sends; a longer one is ignored.
pub const TRACE_STATE_CHARS_MAX: usize = 512;
/// Interval at which a serving host checks whether its settings files have changed.
pub const CONFIG_LOOK_MS: u64 = 1_000;
/// Audit rows that one execution can cause by navigating to forbidden pages.
pub const AUDIT_REFUSALS_MAX: usize = 100;
/// Time for shaping a result, granted even when the execution's time is over: the script itself ended in time.
pub const SHAPE_MS_MIN: u64 = 1_000;
/// Timeout of a verb that specifies none.
pub const VERB_TIMEOUT_MS: u64 = 30_000;
/// Memory of one answer that a verb reads from a page.
pub const VERB_ANSWER_WEIGHT_MAX: usize = 40 * MIB;
/// Steps of a target, including those of nested targets.
pub const TARGET_STEPS_MAX: usize = 100;
/// Refs from a session's snapshots that are still valid; the oldest are evicted first.
pub const REFS_MAX: usize = 20_000;
/// Frames in which the in-page engine is known to be ready.
pub const PAGE_WORLDS_MAX: usize = 500;
/// Pages for which it is remembered what verbs have changed.
pub const PAGE_STATES_MAX: usize = 500;
/// Elements that one call reads.
pub const ELEMENTS_READ_MAX: usize = 10_000;
/// Elements passed to a script's function in one call.
pub const ELEMENTS_EVALUATED_MAX: usize = 5_000;
/// Element handles in the argument of such a function.
pub const HANDLE_ARGUMENTS_MAX: usize = 100;
/// Closed shadow roots of one document that verbs search.
pub const CLOSED_ROOTS_MAX: usize = 1_000;
/// Routes of a page.
pub const ROUTES_MAX: usize = 100;
/// Paused requests that are being continued at the same time; further ones wait.
pub const REQUESTS_CONTINUED_MAX: usize = 256;
/// Requests for which it is remembered that credentials were sent.
pub const AUTH_ATTEMPTS_MAX: usize = 1_000;
/// Tabs opened for a script's own requests that are still remembered after they are closed.
pub const ERRANDS_KNOWN_MAX: usize = 10_000;
/// The body of the response to a script's own request.
pub const FETCH_BODY_BYTES_MAX: usize = 8 * MIB;
/// Names and values of the headers of such a request.
pub const FETCH_HEADERS_BYTES_MAX: usize = 64 * KIB;
/// Redirects that such a request follows, unless the script says otherwise; browsers follow no more.
pub const FETCH_REDIRECTS_MAX: u32 = 20;
/// Requests in an HTTP archive; the oldest are left out.
pub const HAR_ENTRIES_MAX: usize = 1_000;
/// The body of one answer in an HTTP archive.
pub const HAR_BODY_BYTES_MAX: usize = 256 * KIB;
/// All bodies of an HTTP archive.
pub const HAR_BODIES_BYTES_MAX: usize = 2 * MIB;
/// Files that a script adds to its answer, besides those of its result.
pub const KEPT_FILES_MAX: usize = 16;
/// Characters of the name that a script gives to such a file.
pub const KEPT_FILE_NAME_CHARS_MAX: usize = 80;
/// Bytes of a download that a script reads.
pub const DOWNLOAD_BYTES_MAX: u64 = 8 * MIB as u64;
/// Options of a `<select>` that are reported when its popup opens.
pub const SELECT_OPTIONS_MAX: usize = 1_000;
/// Characters of the label of each such option.
pub const SELECT_LABEL_CHARS_MAX: usize = 100;
/// How long a page waits for the host to take such a popup before it opens the browser's own: less than the five
/// seconds for which Chromium's user activation lasts.
pub const SELECT_TAKEN_MS_MAX: u64 = 4_000;
/// Events of pages in one answer.
pub const EVENTS_READ_MAX: usize = 1_000;
/// Characters of a snapshot, unless the script says otherwise.
pub const SNAPSHOT_CHARS_DEFAULT: usize = 20_000;
/// The most characters of a snapshot: about 100,000 tokens.
pub const SNAPSHOT_CHARS_MAX: usize = 400_000;
/// Frames that a snapshot reads.
pub const SNAPSHOT_FRAMES_MAX: usize = 50;
/// Nodes that a snapshot reads.
pub const SNAPSHOT_NODES_MAX: usize = 100_000;
/// Time for disposing the providers of one execution, all together: longer than killing an unresponsive browser takes.
pub const DISPOSE_MS_MAX: u64 = 20_000;

/// Secrets of one state folder.
pub const SECRETS_MAX: usize = 64;
/// Characters of a secret's name.
pub const SECRET_NAME_CHARS_MAX: usize = 64;
/// The fewest characters of a secret's value: a shorter one occurs by chance in too much of what is masked.
pub const SECRET_CHARS_MIN: usize = 4;
/// Bytes of a secret's value: all forms of all values are searched for at once.
pub const SECRET_BYTES_MAX: usize = 256;
/// The fewest bytes of a value whose base64 is masked: that of a shorter one occurs by chance in pictures.
pub const SECRET_BASE64_BYTES_MIN: usize = 6;
/// The file of sealed secrets.
pub const SECRETS_FILE_BYTES_MAX: usize = 256 * KIB;

/// Characters of the name of a saved login state.
pub const LOGIN_NAME_CHARS_MAX: usize = 64;
/// A login state as JSON: its cookies, and the local storage of its origins.
pub const LOGIN_BYTES_MAX: usize = 2 * MIB;
/// The file of a login state: the sealed data in base64, below a header line that names the owner.
pub const LOGIN_FILE_BYTES_MAX: usize = LOGIN_BYTES_MAX * 4 / 3 + 4 * KIB;
/// The header line of such a file.
pub const LOGIN_HEAD_BYTES_MAX: usize = KIB;
/// Origins of a login state: loading it creates a document for each.
pub const LOGIN_ORIGINS_MAX: usize = 32;
/// Login states of one session key.
pub const LOGINS_OF_KEY_MAX: usize = 16;
/// Login states of one state folder.
pub const LOGINS_MAX: usize = 64;

/// Protocol events stored for one browser connection; the oldest are evicted first, and counted.
pub const EVENT_RING_MAX: usize = 10_000;
/// Bytes of the protocol events stored for one browser connection.
pub const EVENT_RING_BYTES_MAX: usize = 4 * MIB;
/// The same for the connection over which the dialogs of popups are watched: more than the longest URL, which is 2 MiB.
pub const POPUP_RING_BYTES_MAX: usize = 5 * MIB / 2;
/// The longest URL to which a browser navigates.
pub const URL_BYTES_MAX: usize = 2 * MIB;
/// Name of an event, and id of its session; Chromium uses no longer ones.
pub const EVENT_NAME_BYTES_MAX: usize = 256;
/// Stored bytes of a target's URL, and of its title.
pub const TARGET_TEXT_BYTES_MAX: usize = 4 * KIB;
/// Bytes of the events in one answer; a further call continues where it ends.
pub const EVENTS_BYTES_MAX: usize = 2 * MIB;
/// The pattern of one wait, as JSON text: each event is compared to it.
pub const PATTERN_BYTES_MAX: usize = 64 * KIB;
/// Names of events in one request: each event is compared to all of them.
pub const EVENT_NAMES_MAX: usize = 100;
/// Lines of the protocol debug log stored for one execution.
pub const DEBUG_LOG_MAX: usize = 500;
/// One command to a browser, as text.
pub const CDP_COMMAND_BYTES_MAX: usize = 4 * MIB;
/// One message of a browser that codemode started, as text; a longer one is skipped and fails its call.
pub const CDP_REPLY_BYTES_MAX: usize = REPLY_BYTES_MAX;
/// One message of an external endpoint; a longer one ends the connection.
pub const CDP_WEB_MESSAGE_BYTES_MAX: usize = 16 * MIB;
/// The first and the last bytes that are retained of a skipped message: enough to identify the call it answers.
pub const CDP_EDGE_BYTES_KEPT: usize = 256;
/// Host memory of a reply that the host itself reads, such as a profile's cookies when the script is over.
pub const CDP_TREE_BYTES_MAX: usize = 34 * MIB;
/// Replies of at most this size reserve no room: those of all calls that may be outstanding add up to a mebibyte.
pub const REPLY_BYTES_FREE: usize = 4 * KIB;

/// Output of one step of a browser's installation that is retained; the oldest lines are dropped first.
pub const INSTALL_OUTPUT_BYTES_KEPT: usize = 256 * KIB;
/// Connections to a session's browser at the same time.
pub const KEEPER_CLIENTS_MAX: usize = 12;
/// Connections to a keeper at the same time, including those in their handshake; further ones wait.
pub const KEEPER_CONNECTIONS_MAX: usize = 64;
/// Handshake between a keeper and its client, before protocol messages follow.
pub const HANDSHAKE_BYTES_MAX: usize = 64 * KIB;
/// Pages of one browser that are listed for an operator.
pub const SESSION_PAGES_NAMED_MAX: usize = 20;
/// Clients of one browser at the same time: those of the execution that holds it, and operators who watch.
pub const RELAY_CLIENTS_MAX: usize = 16;
/// Protocol sessions of one browser, all clients together.
pub const RELAY_SESSIONS_MAX: usize = 16_384;
/// Time after which a client that does not take a message is disconnected: it would hold up the others.
pub const RELAY_STALL_MS: u64 = 5_000;
/// Patterns in one list of network rules.
pub const NETWORK_PATTERNS_MAX: usize = 128;
/// Characters of one pattern: the longest name of a host and its ports.
pub const NETWORK_PATTERN_CHARS_MAX: usize = 270;
/// Connections of one browser that its proxy serves at the same time; further ones wait.
pub const NETWORK_CONNECTIONS_MAX: usize = 512;
/// The head of one HTTP message at a proxy.
pub const NETWORK_HEADER_BYTES_MAX: usize = 256 * KIB;
/// Headers of one HTTP message at a proxy.
pub const NETWORK_HEADERS_MAX: usize = 256;
/// Buffer of a proxy's tunnel, in each direction.
pub const NETWORK_TUNNEL_BUFFER_BYTES: usize = 32 * KIB;
/// Time after which a proxy closes an idle connection: no execution waits for longer.
pub const NETWORK_IDLE_MS: u64 = WALL_MS_MAX;
/// Time for resolving a name and connecting to one of its addresses.
pub const NETWORK_CONNECT_MS_MAX: u64 = 30_000;
/// Addresses of one name that are tried.
pub const NETWORK_ADDRESSES_MAX: usize = 16;
/// Delay before the next address is tried in parallel with the previous one.
pub const NETWORK_ATTEMPT_DELAY_MS: u64 = 250;
/// Refused destinations that wait to be recorded; further ones are not recorded.
pub const NETWORK_REFUSALS_QUEUED_MAX: usize = 256;
/// Refused destinations of one lease that the audit lists separately.
pub const NETWORK_REFUSALS_NOTED_MAX: usize = 128;
/// Destinations without a connection that one connection to a browser remembers.
pub const NETWORK_FAILURES_TOLD_MAX: usize = 128;

const _: () = assert!(WALL_MS_MIN <= WALL_MS_DEFAULT && WALL_MS_DEFAULT <= WALL_MS_MAX);
const _: () = assert!(CPU_MS_DEFAULT <= CPU_MS_MAX);
const _: () = assert!(UPLOAD_BYTES_MAX < ARGUMENTS_WEIGHT_MAX);
const _: () = assert!(VNEXT_SCREENSHOT_BYTES_MAX < REPLY_BYTES_MAX && VNEXT_SNAPSHOT_CHARS <= SNAPSHOT_CHARS_MAX);
const _: () = assert!(NOTES_BYTES_MAX * 2 <= SUSPENDED_BYTES_MAX, "a suspended namespace keeps its notes and more");
const _: () = assert!(GUEST_STACK_BYTES < MEMORY_BYTES_MAX);
const _: () = assert!(WASM_STACK_BYTES_MAX < TURN_THREAD_STACK_BYTES, "a turn must trap before its thread overflows");
const _: () = assert!(ARGUMENT_BYTES_MAX <= ARGUMENTS_WEIGHT_MAX && REPLY_BYTES_MAX < MEMORY_BYTES_MAX);
const _: () = assert!(CALLS_OUTSTANDING_MAX <= CALLS_PER_EXECUTION_MAX as usize);
const _: () = assert!(CONSOLE_LINE_BYTES_MAX * 2 <= CONSOLE_BYTES_KEPT);
const _: () = assert!(LOG_CHARS_MAX <= CONSOLE_BYTES_KEPT);
const _: () = assert!(LEASE_WAITER_RENEW_MS * 2 < LEASE_WAITER_TTL_MS, "a waiter may be late");
const _: () = assert!(LEASE_RENEW_MS * 3 < LEASE_TTL_MS, "two renewals may fail");
const _: () = assert!(SESSION_IDLE_MS_MIN <= SESSION_IDLE_MS_DEFAULT && SESSION_IDLE_MS_DEFAULT <= SESSION_IDLE_MS_MAX);
const _: () = assert!(LEASE_WAIT_MS_DEFAULT <= LEASE_WAIT_MS_MAX);
const _: () = assert!(FAULT_ECHO_CHARS_MAX < FAULT_CHARS_MAX && FAULT_CHARS_MAX < ERROR_TEXT_CHARS_MAX);
const _: () =
    assert!(CDP_REPLY_BYTES_MAX < CDP_WEB_MESSAGE_BYTES_MAX, "too long a reply costs its call, no connection");
const _: () =
    assert!(REPLY_BYTES_FREE * CALLS_OUTSTANDING_MAX <= MIB && ARGUMENTS_WEIGHT_FREE * CALLS_OUTSTANDING_MAX <= MIB);
const _: () =
    assert!(RESULT_BYTES_MAX + CDP_TREE_BYTES_MAX + REPLY_BYTES_MAX <= 64 * MIB, "what is read after the script");
const _: () = assert!(EXECUTION_BYTES_MAX <= 64 * MIB, "what a script may take of the host's memory");
const _: () = assert!(RESULT_WEIGHT_MAX <= 64 * MIB && RESULT_BYTES_MAX <= RESULT_WEIGHT_MAX);
const _: () = assert!(ROOM_WAIT_MS_MAX * 2 <= RELAY_STALL_MS);
const _: () = assert!(EVENTS_BYTES_MAX <= EVENT_RING_BYTES_MAX && EVENTS_BYTES_MAX <= REPLY_BYTES_MAX);
const _: () = assert!(KEEPER_CLIENTS_MAX <= RELAY_CLIENTS_MAX && KEEPER_CLIENTS_MAX < KEEPER_CONNECTIONS_MAX);
const _: () = assert!(SECRET_CHARS_MIN <= SECRET_BASE64_BYTES_MIN && SECRET_BASE64_BYTES_MIN <= SECRET_BYTES_MAX);
const _: () = assert!(SECRETS_MAX * SECRET_BYTES_MAX * 8 <= SECRETS_FILE_BYTES_MAX, "all values and their frames fit");
const _: () = assert!(LOGINS_OF_KEY_MAX <= LOGINS_MAX);
const _: () = assert!(LOGIN_BYTES_MAX * 3 / 2 < CDP_COMMAND_BYTES_MAX, "one command puts an origin's storage back");
const _: () = assert!(LOGIN_NAME_CHARS_MAX + SESSION_KEY_CHARS_MAX + 256 < LOGIN_HEAD_BYTES_MAX);
const _: () = assert!(TICK_MS < CPU_MS_DEFAULT);
const _: () =
    assert!(CONSOLE_LINE_BYTES_MAX * 2 <= TRACE_LOGS_BYTES_MAX && METHOD_NAME_CHARS_MAX * 8 < TRACE_CALLS_BYTES_MAX);
const _: () = assert!(VIEW_WAIT_MS_MAX < VIEW_IDLE_MS && VIEW_WAIT_MS_MAX < HTTP_STALL_MS_MAX);
const _: () = assert!(SOURCE_BYTES_MAX * 6 < MCP_LINE_BYTES_MAX);
const _: () = assert!(EXECUTIONS_CONCURRENT_MAX + EXECUTIONS_QUEUED_MAX < MCP_REQUESTS_MAX);
