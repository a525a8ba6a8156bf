package apiserver

import "github.com/keelson-dev/keelson/store/registry"

// Image is what a server has derived from the content of its store at one revision: immutable plain data that
// any number of servers over stores with that content may share, in any testing/synctest bubbles. It saves
// time and memory and changes nothing else. See Options.Image.
type Image struct {
	objects *registry.Image
	kinds   bool // Options had neither Kinds nor a Scheme
	flows   *flowObjects
}

// Image returns what the server has derived from the content of its store at a revision. What has not reached
// the revision is left out.
func (s *Server) Image(revision int64) *Image {
	return &Image{objects: s.registry.Image(revision), kinds: s.opts.builtinKinds(), flows: s.flowObjects(revision)}
}

// fits reports whether the kinds of a server with these options are those of the image.
func (i *Image) fits(o *Options) bool { return i != nil && i.kinds && o.builtinKinds() }

// builtinKinds reports that the kinds are those of every server with such options. Definitions and rules
// cannot be compared.
func (o *Options) builtinKinds() bool { return o.Scheme == nil && len(o.Kinds) == 0 }
