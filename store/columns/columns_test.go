package columns_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/store/columns"
)

func TestHumanDuration(t *testing.T) {
	const day = 24 * time.Hour
	for d, want := range map[time.Duration]string{
		-2 * time.Second: "<invalid>", -time.Second: "0s", 0: "0s", 5 * time.Second: "5s", 119 * time.Second: "119s",
		2 * time.Minute: "2m", 190 * time.Second: "3m10s", 10 * time.Minute: "10m", 179*time.Minute + 59*time.Second: "179m",
		3 * time.Hour: "3h", 4*time.Hour + 2*time.Minute: "4h2m", 8*time.Hour + 30*time.Minute: "8h", 47 * time.Hour: "47h",
		48 * time.Hour: "2d", 4*day + 2*time.Hour: "4d2h", 8*day + 5*time.Hour: "8d", 729 * day: "729d",
		730 * day: "2y", 800 * day: "2y70d", 8*365*day + 9*day: "8y", 20 * 365 * day: "20y",
	} {
		require.Equal(t, want, columns.HumanDuration(d), d)
	}
}

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func ago(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }

func TestCustomColumns(t *testing.T) {
	table, err := columns.Custom([]apiextensionsv1.CustomResourceColumnDefinition{
		{Name: "Size", Type: "integer", JSONPath: ".spec.size"},
		{Name: "Ready", Type: "string", JSONPath: `.status.conditions[?(@.type=="Ready")].status`, Priority: 1},
		{Name: "When", Type: "date", JSONPath: ".status.at"},
		{Name: "Tags", Type: "string", JSONPath: ".spec.tags"},
		{Name: "Wrong", Type: "boolean", JSONPath: ".spec.size"},
		{Name: "Name again", Type: "string", JSONPath: ".metadata.name"},
	})
	require.NoError(t, err)
	u := &metav1.Unstructured{ObjectMeta: metav1.ObjectMeta{Name: "w"}, Fields: map[string]any{
		"spec":   map[string]any{"size": int64(1), "tags": []any{"a", "b"}},
		"status": map[string]any{"at": now.Add(-time.Hour).Format(time.RFC3339), "conditions": []any{map[string]any{"type": "Ready", "status": "True"}}},
	}}
	require.Equal(t, []any{"w", int64(1), "True", "60m", `["a","b"]`, nil, "w"}, table.Cells(u, now))
	require.Equal(t, int32(1), table.Columns[2].Priority)

	table, err = columns.Custom(nil)
	require.NoError(t, err)
	u.CreationTimestamp = ago(5 * time.Second)
	require.Equal(t, []any{"w", "5s"}, table.Cells(u, now))

	_, err = columns.Custom([]apiextensionsv1.CustomResourceColumnDefinition{{Name: "Bad", JSONPath: ".a["}})
	require.ErrorContains(t, err, "Bad")
}

func TestDefault(t *testing.T) {
	table := columns.Default()
	u := &metav1.Unstructured{ObjectMeta: metav1.ObjectMeta{Name: "x", CreationTimestamp: metav1.NewTime(now)}}
	require.Equal(t, []any{"x", "2026-01-02T03:04:05Z"}, table.Cells(u, now))
	// An object of another type than the table's still gets a row.
	require.Equal(t, "x", columns.Of(func(*corev1.Pod, time.Time) []any { return nil }).Cells(u, now)[0])
}

func ExampleOf() {
	table := columns.Of(func(n *corev1.Node, now time.Time) []any {
		return []any{n.Name, n.Status.NodeInfo.KubeletVersion, columns.AgeOf(n, now)}
	}, columns.Name(), columns.Text("Version", "Version of the kubelet."), columns.Age())
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", CreationTimestamp: ago(3 * time.Minute)}}
	node.Status.NodeInfo.KubeletVersion = "v1.36.0"
	fmt.Println(table.Cells(node, now)...)
	// Output: n1 v1.36.0 3m
}
