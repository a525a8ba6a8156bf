// Package manifest reads and writes API objects of any kind as text, and converts them between Go types,
// [metav1.Unstructured] and JSON values.
//
//	objs, err := manifest.ReadFS(os.DirFS("config"))
//	manifest.Sort(objs)
//
// A stream holds YAML documents separated by lines of "---", JSON values, or both. Lists stand for their
// items. An error names the file, the document and the line; after an error the other documents are not read.
// Sizes are bounded by codec.MaxYAMLBytes per document, so that a hostile file costs bounded memory.
package manifest
