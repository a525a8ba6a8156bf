package metav1

// BookmarkHeader is the request header with which a client of a watch requests a bookmark at least every that
// many seconds, so that it notices a dead connection. A server that supports it, which only Keelson's does,
// answers with the same header and the interval that it grants.
const BookmarkHeader = "Keelson-Bookmark-Seconds"
