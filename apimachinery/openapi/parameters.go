package openapi

// parameter is a query or path parameter.
type parameter struct {
	typ, description string
}

// parameters describes every parameter the operations use.
var parameters = map[string]parameter{
	"allowWatchBookmarks": {typ: "boolean", description: "Ask for bookmark events in a watch."},
	"command":             {typ: "string", description: "Program and arguments to run; repeat it for each word."},
	"container":           {typ: "string", description: "Container to use; may be left out if the pod has one only."},
	"continue":            {typ: "string", description: "Token of the previous page, to get the next one."},
	"dryRun":              {typ: "string", description: "All: process the request in full, but store nothing."},
	"fieldManager":        {typ: "string", description: "Name of the actor that makes the change, at most 128 printable characters. Required for apply."},
	"fieldSelector":       {typ: "string", description: "Return objects whose fields match only."},
	"fieldValidation":     {typ: "string", description: "What to do about unknown and duplicate fields: Ignore, Warn or Strict."},
	"follow":              {typ: "boolean", description: "Keep sending what is logged."},
	"force":               {typ: "boolean", description: "Take fields over from other managers. Apply only."},
	"gracePeriodSeconds":  {typ: "integer", description: "Seconds before the object is removed; 0 means at once."},
	"ignoreStoreReadErrorWithClusterBreakingPotential": {typ: "boolean", description: "Delete an object even if it cannot be read from storage. Dangerous."},
	"insecureSkipTLSVerifyBackend":                     {typ: "boolean", description: "Do not verify the certificate of the node."},
	"labelSelector":                                    {typ: "string", description: "Return objects whose labels match only."},
	"limit":                                            {typ: "integer", description: "Most objects to return in one page."},
	"limitBytes":                                       {typ: "integer", description: "Most bytes of log to return."},
	"orphanDependents":                                 {typ: "boolean", description: "Deprecated, use propagationPolicy."},
	"path":                                             {typ: "string", description: "Path to pass on."},
	"ports":                                            {typ: "integer", description: "Ports to forward, for WebSocket only."},
	"pretty":                                           {typ: "string", description: "true: indent the output."},
	"previous":                                         {typ: "boolean", description: "Return the log of the container's previous run."},
	"propagationPolicy":                                {typ: "string", description: "What happens to dependents: Orphan, Background or Foreground."},
	"resourceVersion":                                  {typ: "string", description: "How recent the answer must be."},
	"resourceVersionMatch":                             {typ: "string", description: "How resourceVersion is applied: Exact or NotOlderThan."},
	"sendInitialEvents":                                {typ: "boolean", description: "Begin a watch with the objects there are, then a bookmark."},
	"shardSelector":                                    {typ: "string", description: "Return objects of one shard only."},
	"sinceSeconds":                                     {typ: "integer", description: "Return log lines newer than this many seconds."},
	"sinceTime":                                        {typ: "string", description: "Return log lines from this time on."},
	"stderr":                                           {typ: "boolean", description: "Connect standard error."},
	"stdin":                                            {typ: "boolean", description: "Connect standard input."},
	"stdout":                                           {typ: "boolean", description: "Connect standard output."},
	"stream":                                           {typ: "string", description: "Log stream to return: All, Stdout or Stderr."},
	"tailLines":                                        {typ: "integer", description: "Return this many last lines of the log."},
	"timeoutSeconds":                                   {typ: "integer", description: "Longest time a list or watch may take."},
	"timestamps":                                       {typ: "boolean", description: "Begin each log line with its time."},
	"tty":                                              {typ: "boolean", description: "Use a terminal."},
	"watch":                                            {typ: "boolean", description: "Send changes as they happen instead of a list."},
	"name":                                             {typ: "string", description: "Name of the object."},
	"namespace":                                        {typ: "string", description: "Namespace of the object."},
}
