package client

// managedConn is a connection with a default field manager.
type managedConn struct {
	editedConn
	manager string
}

// WithFieldManager returns a connection whose creates, updates and patches, server-side apply included, are
// made in the name of manager, unless their options name another.
func WithFieldManager(c Conn, manager string) Conn {
	edit := func(r *Request) {
		switch r.Verb() {
		case "create", "update", "patch":
		default:
			return
		}
		if r.Path != "" || r.Query.Has("fieldManager") {
			return
		}
		setQuery(r, "fieldManager", manager)
	}
	return managedConn{editedConn{wrappedConn{c}, edit}, manager}
}

// fieldManagerOf returns the default field manager of a connection, or "".
func fieldManagerOf(c Conn) string {
	m, _ := findConn[managedConn](c)
	return m.manager
}
