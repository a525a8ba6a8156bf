package columns

import (
	"time"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// Table is the set of printer columns of one resource.
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

// Default returns the table of resources without columns of their own: Name and Created At.
func Default() Table { return byDefault }

var byDefault = Table{Columns: []metav1.TableColumnDefinition{
	Name(),
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

// WithConditions returns a copy of t whose rows have the conditions that f returns, which may be called
// concurrently.
func (t Table) WithConditions(f func(obj metav1.Object) []metav1.TableRowCondition) Table {
	t.conditions = f
	return t
}

// Name returns the column of the object's name, the first one of most tables.
func Name() metav1.TableColumnDefinition {
	return metav1.TableColumnDefinition{Name: "Name", Type: "string", Format: "name", Description: "Name of the object."}
}

// Age returns the column of the time since the object was created; see [AgeOf].
func Age() metav1.TableColumnDefinition {
	return Text("Age", "Time since the object was created.")
}

// Text returns a column of strings.
func Text(name, description string) metav1.TableColumnDefinition {
	return metav1.TableColumnDefinition{Name: name, Type: "string", Description: description}
}

// Number returns a column of int64s.
func Number(name, description string) metav1.TableColumnDefinition {
	return metav1.TableColumnDefinition{Name: name, Type: "integer", Description: description}
}

// Bool returns a column of bools.
func Bool(name, description string) metav1.TableColumnDefinition {
	return metav1.TableColumnDefinition{Name: name, Type: "boolean", Description: description}
}

// Wide returns c as a column that kubectl shows with -o wide only.
func Wide(c metav1.TableColumnDefinition) metav1.TableColumnDefinition {
	c.Priority = 1
	return c
}
