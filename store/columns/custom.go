package columns

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/jsonpath"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// Custom returns the table of a custom resource: Name, then the declared columns, or Age when none are
// declared. Cells are nil where the path selects nothing or a value of another type. It works on
// *metav1.Unstructured; for other types the declared cells are nil. A path that does not parse is an error
// naming the column.
func Custom(declared []apiextensionsv1.CustomResourceColumnDefinition) (Table, error) {
	if len(declared) == 0 {
		declared = []apiextensionsv1.CustomResourceColumnDefinition{{
			Name: "Age", Type: "date", Description: "Time since the object was created.", JSONPath: ".metadata.creationTimestamp",
		}}
	}
	headers := []metav1.TableColumnDefinition{Name()}
	cells := make([]customColumn, len(declared))
	for i, d := range declared {
		path, err := jsonpath.Parse(d.JSONPath)
		if err != nil {
			return Table{}, fmt.Errorf("column %q: %w", d.Name, err)
		}
		headers = append(headers, metav1.TableColumnDefinition{
			Name: d.Name, Type: d.Type, Format: d.Format, Description: cmp.Or(d.Description, "Custom resource definition column (in JSONPath format): "+d.JSONPath), Priority: d.Priority,
		})
		cells[i] = customColumn{path: path, typ: d.Type}
	}
	return Table{Columns: headers, cells: func(obj metav1.Object, now time.Time) []any {
		row := make([]any, 1, len(cells)+1)
		row[0] = obj.GetName()
		root := jsonRoot(obj)
		for _, c := range cells {
			row = append(row, c.cell(root, now))
		}
		return row
	}}, nil
}

type customColumn struct {
	path *jsonpath.Path
	typ  string
}

func (c customColumn) cell(root any, now time.Time) any {
	v, ok := c.path.First(root)
	if !ok {
		return nil
	}
	switch c.typ {
	case "integer":
		switch v := v.(type) {
		case int64:
			return v
		case float64:
			return int64(v)
		}
	case "number":
		switch v := v.(type) {
		case int64:
			return float64(v)
		case float64:
			return v
		}
	case "boolean":
		if v, ok := v.(bool); ok {
			return v
		}
	case "date":
		if v, ok := v.(string); ok {
			return dateText(v, now)
		}
	case "string":
		return plainText(v)
	}
	return nil
}

func dateText(v string, now time.Time) string {
	t, err := time.Parse(time.RFC3339, v)
	if err != nil {
		return "<invalid>"
	}
	return Since(t, now)
}

// plainText writes scalars bare and the rest as JSON.
func plainText(v any) any {
	switch v := v.(type) {
	case nil:
		return nil
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return nil
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// jsonRoot is the object as paths see it. It contains only the metadata that columns are likely to select.
func jsonRoot(obj metav1.Object) map[string]any {
	root := map[string]any{}
	if u, ok := obj.(*metav1.Unstructured); ok {
		for k, v := range u.Fields {
			root[k] = v
		}
		root["apiVersion"], root["kind"] = u.APIVersion, u.Kind
	}
	root["metadata"] = metadataValue(metav1.MetaOf(obj))
	return root
}

func metadataValue(m *metav1.ObjectMeta) map[string]any {
	v := map[string]any{"name": m.Name}
	for k, s := range map[string]string{
		"generateName": m.GenerateName, "namespace": m.Namespace, "uid": string(m.UID), "resourceVersion": m.ResourceVersion,
	} {
		if s != "" {
			v[k] = s
		}
	}
	if m.Generation != 0 {
		v["generation"] = m.Generation
	}
	if !m.CreationTimestamp.IsZero() {
		v["creationTimestamp"] = m.CreationTimestamp.UTC().Format(time.RFC3339)
	}
	if m.DeletionTimestamp != nil {
		v["deletionTimestamp"] = m.DeletionTimestamp.UTC().Format(time.RFC3339)
	}
	if m.DeletionGracePeriodSeconds != nil {
		v["deletionGracePeriodSeconds"] = *m.DeletionGracePeriodSeconds
	}
	if len(m.Labels) > 0 {
		v["labels"] = stringsValue(m.Labels)
	}
	if len(m.Annotations) > 0 {
		v["annotations"] = stringsValue(m.Annotations)
	}
	if len(m.Finalizers) > 0 {
		list := make([]any, len(m.Finalizers))
		for i, f := range m.Finalizers {
			list[i] = f
		}
		v["finalizers"] = list
	}
	if len(m.OwnerReferences) > 0 {
		list := make([]any, len(m.OwnerReferences))
		for i, r := range m.OwnerReferences {
			owner := map[string]any{"apiVersion": r.APIVersion, "kind": r.Kind, "name": r.Name, "uid": string(r.UID)}
			if r.Controller != nil {
				owner["controller"] = *r.Controller
			}
			list[i] = owner
		}
		v["ownerReferences"] = list
	}
	return v
}

func stringsValue(m map[string]string) map[string]any {
	v := make(map[string]any, len(m))
	for k, s := range m {
		v[k] = s
	}
	return v
}
