//go:build !(gc && go1.26 && !go1.27) || keelson_safe

package mem

// smallMapsRead says that the runtime of this Go version was read and lays out maps as [SmallMap] does.
const smallMapsRead = false
