package metav1

// LastChangeHeader is the request header with which a client of a list of the current state requests the
// resourceVersion of the last change of any object of the resource, in all namespaces. A server that supports
// it, which only Keelson's does, answers with the same header and that version. A copy that is at that
// version is as current as the list.
const LastChangeHeader = "Keelson-Last-Change"
