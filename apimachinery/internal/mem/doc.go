// Package mem reads and writes the memory of Go values by address. It is the only package of apimachinery
// that imports unsafe.
//
// What it offers is of two kinds. The first is what the rules of package unsafe allow and every Go compiler
// supports: the address of a field or an element ([Add], [Index]), a typed view of the value there ([At]),
// the header of a slice ([Slice]), and strings and bytes that share memory ([String], [Bytes]).
//
// The second kind relies on how the gc toolchain lays out values that the language keeps opaque:
//
//   - interface values ([Binder], [Box]),
//   - reflect.Value ([Value]),
//   - functions behind other types of pointers ([CopyFunc] and its companions),
//   - maps seen as maps of another named key type ([MapsAlike], [MapLen]),
//   - the header and the slots of a small map ([SmallMap], [SmallMapAt]).
//
// Each of them is checked once when the program starts, against values that the runtime made itself. Where a
// check fails, or for small maps where the Go version is not one whose runtime was read, the functions do the
// same through package reflect: slower, with the same results. The build tag keelson_safe selects that
// throughout, and is what to try first when memory corruption is suspected. The tests of this package fail in
// CI on a toolchain whose layouts are not all known, so that an upgrade of Go does not pass as a slowdown.
package mem
