package patch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	jsonpatch "github.com/evanphx/json-patch/v5"

	"github.com/keelson-dev/keelson/apimachinery/codec"
)

// Limits on patches.
const (
	// MaxSize is the most bytes of a patch.
	MaxSize = 3 << 20
	// MaxOperations is the most operations of a JSON patch.
	MaxOperations = 10000
	// MaxCopied is the most bytes the copy operations of one JSON patch may add.
	MaxCopied = 3 << 20
)

func checkSize(patch []byte) error {
	if len(patch) > MaxSize {
		return fmt.Errorf("%w: %d bytes, at most %d are allowed", ErrTooLarge, len(patch), MaxSize)
	}
	return nil
}

// JSON applies a JSON patch to a document. Negative list indexes count from the
// end. The operations apply all or not at all. The document may be any JSON object
// or array.
func JSON(doc, patch []byte) ([]byte, error) {
	if err := checkSize(patch); err != nil {
		return nil, err
	}
	ops, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		return nil, malformed("%v", err)
	}
	if len(ops) > MaxOperations {
		return nil, fmt.Errorf("%w: %d operations, at most %d are allowed", ErrTooLarge, len(ops), MaxOperations)
	}
	for i, op := range ops {
		if err := checkOperation(op); err != nil {
			return nil, malformed("operation %d: %v", i, err)
		}
	}
	out, err := apply(doc, ops)
	switch {
	case err == nil:
		return out, nil
	case errors.Is(err, jsonpatch.ErrInvalid):
		return nil, fmt.Errorf("%w: %v", ErrBadDocument, err)
	case errors.Is(err, jsonpatch.ErrTestFailed):
		return nil, fmt.Errorf("%w: %w: %v", ErrNotApplicable, ErrTestFailed, err)
	}
	return nil, notApplicable("%v", err)
}

// apply turns a panic of the library into an error: a patch comes from the
// network, and version 5.9 panics on some invalid patches.
func apply(doc []byte, ops jsonpatch.Patch) (out []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			out, err = nil, fmt.Errorf("internal: %v", r)
		}
	}()
	if len(doc) == 0 {
		return nil, jsonpatch.ErrInvalid // the library returns it unwrapped
	}
	return ops.ApplyWithOptions(doc, &jsonpatch.ApplyOptions{
		SupportNegativeIndices:   true,
		AccumulatedCopySizeLimit: MaxCopied,
	})
}

var null = json.RawMessage("null")

// checkOperation rejects operations that cannot apply to any document.
func checkOperation(op jsonpatch.Operation) error {
	if err := checkPointer(op.Path()); err != nil {
		return err
	}
	switch kind := op.Kind(); kind {
	case "add", "replace":
		if _, ok := op["value"]; !ok {
			return fmt.Errorf("%s without a value", kind)
		}
	case "test":
		if op["value"] == nil {
			op["value"] = &null // which is also what a missing value is tested for
		}
	case "move", "copy":
		return checkPointer(op.From())
	case "remove":
	default:
		return fmt.Errorf("unexpected kind %q", kind)
	}
	return nil
}

func checkPointer(pointer string, err error) error {
	if err == nil && pointer != "" && pointer[0] != '/' {
		err = fmt.Errorf("%q does not start with a slash", pointer)
	}
	return err
}

// Merge applies a JSON merge patch to an object. Both must be JSON objects.
func Merge(doc, patch []byte) ([]byte, error) {
	target, changes, err := decodeBoth(doc, patch)
	if err != nil {
		return nil, err
	}
	return encode(MergeMap(target, changes), len(doc)+len(patch))
}

// MergeMap is Merge on decoded objects. doc is consumed: the result is built from
// it. The patch is left alone and shares nothing with the result.
func MergeMap(doc, patch map[string]any) map[string]any {
	if doc == nil {
		doc = make(map[string]any, len(patch))
	}
	for key, value := range patch {
		switch value := value.(type) {
		case nil:
			delete(doc, key)
		case map[string]any:
			// A value that is not an object is replaced by an empty one, so that the nulls of the patch are
			// dropped as well.
			target, _ := doc[key].(map[string]any)
			doc[key] = MergeMap(target, value)
		case []any:
			if _, wasObject := doc[key].(map[string]any); wasObject {
				doc[key] = clone(value)
			} else {
				doc[key] = withoutNulls(value)
			}
		default:
			doc[key] = value
		}
	}
	return doc
}

// withoutNulls copies a list of a merge patch. The RFC replaces lists unchanged; the API drops the nulls of
// objects in them, as it does elsewhere, unless the list replaces an object.
func withoutNulls(list []any) []any {
	out := make([]any, len(list))
	for i, v := range list {
		switch v := v.(type) {
		case map[string]any:
			out[i] = MergeMap(nil, v)
		case []any:
			out[i] = withoutNulls(v)
		default:
			out[i] = v
		}
	}
	return out
}

// CreateMerge returns the JSON merge patch that turns original into modified. Both must
// be JSON objects. A merge patch cannot set a field to null; such fields are
// deleted.
func CreateMerge(original, modified []byte) ([]byte, error) {
	from, err := decode(original, ErrBadDocument)
	if err != nil {
		return nil, err
	}
	to, err := decode(modified, ErrBadDocument)
	if err != nil {
		return nil, err
	}
	return encode(diffMerge(from, to), usualPatch)
}

func diffMerge(from, to map[string]any) map[string]any {
	out := map[string]any{}
	for key := range from {
		if _, ok := to[key]; !ok {
			out[key] = nil
		}
	}
	for key, after := range to {
		before, ok := from[key]
		if !ok {
			if after != nil {
				out[key] = after
			}
			continue
		}
		beforeMap, isMapBefore := before.(map[string]any)
		afterMap, isMapAfter := after.(map[string]any)
		if isMapBefore && isMapAfter {
			if changes := diffMerge(beforeMap, afterMap); len(changes) > 0 {
				out[key] = changes
			}
		} else if !equal(before, after) {
			out[key] = after
		}
	}
	return out
}

// decodeBoth reads a patch, and of the document what the patch touches.
func decodeBoth(doc, patch []byte) (target, changes map[string]any, err error) {
	if err := checkSize(patch); err != nil {
		return nil, nil, err
	}
	if changes, err = decode(patch, ErrMalformed); err != nil {
		return nil, nil, err
	}
	if target, err = decodeTouched(doc, changes); err != nil {
		return nil, nil, err
	}
	return target, changes, nil
}

// decode reads a JSON object and keeps numbers as they are written. Errors wrap
// kind.
func decode(data []byte, kind error) (map[string]any, error) {
	if trimmed := bytes.TrimSpace(data); len(trimmed) > 0 && trimmed[0] == '{' && codec.Valid(data) {
		v, _, err := decodeComposite(trimmed)
		if err != nil {
			return nil, err
		}
		return v.(map[string]any), nil
	}
	// What is wrong with it:
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var out map[string]any
	if err := d.Decode(&out); err != nil {
		return nil, fmt.Errorf("%w: %v", kind, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("%w: data after the object", kind)
	}
	if out == nil {
		return nil, fmt.Errorf("%w: null", kind)
	}
	return out, nil
}

// usualPatch is the size in bytes that most created patches do not exceed.
const usualPatch = 1024

// encode returns v in JSON, which is expected to be about size bytes long.
func encode(v map[string]any, size int) ([]byte, error) { return appendValue(make([]byte, 0, size), v) }
