package columns

import (
	"time"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
)

// Table is how the objects of one resource are shown.
type Table struct {
	// Columns are the headers in order. Do not modify.
	Columns []metav1.TableColumnDefinition

	cells      func(obj metav1.Object, now time.Time) []any
	conditions func(obj metav1.Object) []metav1.TableRowCondition
}

// Cells computes the row of obj: strings, int64s, float64s, bools and nils, one per column. Ages are relative
// to now, so that all rows of one list agree. An object of another Go type than the table's gets the cells of
// [Default].
func (t Table) Cells(obj metav1.Object, now time.Time) []any {
	if t.cells == nil {
		return defaultCells(obj, now)
	}
	return t.cells(obj, now)
}

// Conditions returns the row's conditions, such as Completed for a pod that has ended; nil for most.
func (t Table) Conditions(obj metav1.Object) []metav1.TableRowCondition {
	if t.conditions == nil {
		return nil
	}
	return t.conditions(obj)
}

// For returns the table of a built-in resource, or [Default] for a resource that has no columns of its own.
func For(gvr schema.GroupVersionResource) Table {
	if t, ok := builtin[gvr]; ok {
		return t
	}
	return Default()
}

// Default returns the table of resources without columns of their own: Name and Created At.
func Default() Table { return byDefault }

var byDefault = Table{Columns: []metav1.TableColumnDefinition{
	name(),
	{Name: "Created At", Type: "date", Description: "Time at which the server stored the object first."},
}}

func defaultCells(obj metav1.Object, _ time.Time) []any {
	created := metav1.MetaOf(obj).CreationTimestamp
	if created.IsZero() {
		return []any{obj.GetName(), nil}
	}
	return []any{obj.GetName(), created.UTC().Format(time.RFC3339)}
}

// Of returns the table of a Go type: row computes the cells of one object (strings, int64s, float64s, bools
// or nil, one for each of columns), and may be called concurrently. Objects of another type get the cells of
// [Default].
func Of[T metav1.Object](row func(obj T, now time.Time) []any, columns ...metav1.TableColumnDefinition) Table {
	return Table{Columns: columns, cells: func(obj metav1.Object, now time.Time) []any {
		if typed, ok := obj.(T); ok {
			return row(typed, now)
		}
		return defaultCells(obj, now)
	}}
}

func name() metav1.TableColumnDefinition {
	return metav1.TableColumnDefinition{Name: "Name", Type: "string", Format: "name", Description: "Name of the object."}
}

func age() metav1.TableColumnDefinition {
	return text("Age", "Time since the object was created.")
}

func text(name, description string) metav1.TableColumnDefinition {
	return metav1.TableColumnDefinition{Name: name, Type: "string", Description: description}
}

func number(name, description string) metav1.TableColumnDefinition {
	return metav1.TableColumnDefinition{Name: name, Type: "integer", Description: description}
}

func flag(name, description string) metav1.TableColumnDefinition {
	return metav1.TableColumnDefinition{Name: name, Type: "boolean", Description: description}
}

// wide marks a column that shows with -o wide only.
func wide(c metav1.TableColumnDefinition) metav1.TableColumnDefinition {
	c.Priority = 1
	return c
}
