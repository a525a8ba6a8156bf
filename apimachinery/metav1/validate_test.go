package metav1

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/validation"
)

func texts(errs validation.ErrorList) []string {
	var out []string
	for _, e := range errs {
		out = append(out, e.Field+" "+string(e.Type))
	}
	return out
}

func TestValidateMeta(t *testing.T) {
	p := validation.NewPath("metadata")
	for _, c := range []struct {
		why  string
		edit func(m *ObjectMeta)
		want []string
	}{
		{"good", func(*ObjectMeta) {}, nil},
		{"no name", func(m *ObjectMeta) { m.Name = "" }, []string{"metadata.name FieldValueRequired"}},
		{"bad prefix", func(m *ObjectMeta) { m.GenerateName = "A_b" }, []string{"metadata.generateName FieldValueInvalid"}},
		{"no namespace", func(m *ObjectMeta) { m.Namespace = "" }, []string{"metadata.namespace FieldValueRequired"}},
		{"bad namespace", func(m *ObjectMeta) { m.Namespace = "a.b" }, []string{"metadata.namespace FieldValueInvalid"}},
		{"bad label", func(m *ObjectMeta) { m.Labels = map[string]string{"a": "-"} }, []string{"metadata.labels FieldValueInvalid"}},
		{"huge annotation", func(m *ObjectMeta) { m.Annotations = map[string]string{"a": strings.Repeat("x", 256<<10)} }, []string{"metadata.annotations FieldValueTooLong"}},
		{"bare finalizer", func(m *ObjectMeta) { m.Finalizers = []string{"a.test/x", "x"} }, nil},
		{"bad finalizer", func(m *ObjectMeta) { m.Finalizers = []string{"a.test/x/y"} }, []string{"metadata.finalizers FieldValueInvalid"}},
		{"system finalizers", func(m *ObjectMeta) { m.Finalizers = []string{"orphan", "foregroundDeletion"} }, []string{"metadata.finalizers FieldValueInvalid"}},
		{"empty owner", func(m *ObjectMeta) { m.OwnerReferences = []OwnerReference{{}} }, []string{
			"metadata.ownerReferences.apiVersion FieldValueInvalid", "metadata.ownerReferences.kind FieldValueInvalid",
			"metadata.ownerReferences.name FieldValueInvalid", "metadata.ownerReferences.uid FieldValueInvalid",
		}},
		{"bad operation", func(m *ObjectMeta) { m.ManagedFields = []ManagedFieldsEntry{{Operation: "X"}} }, []string{"metadata.managedFields[0].operation FieldValueInvalid"}},
	} {
		m := &ObjectMeta{Name: "n", Namespace: "ns"}
		c.edit(m)
		require.Equal(t, c.want, texts(ValidateMeta(m, true, nil, p)), c.why)
	}
	cluster := &ObjectMeta{Name: "n", Namespace: "ns"}
	require.Equal(t, []string{"metadata.namespace FieldValueForbidden"}, texts(ValidateMeta(cluster, false, nil, p)))
}

func TestValidateFinalizerDomains(t *testing.T) {
	p := validation.NewPath("f")
	require.Empty(t, ValidateFinalizerDomains([]string{"a.test/x", "orphan", "foregroundDeletion", "kubernetes"}, p))
	require.Equal(t, []string{"f[1] FieldValueInvalid"}, texts(ValidateFinalizerDomains([]string{"a.test/x", "x"}, p)))
}

func TestValidateMetaUpdate(t *testing.T) {
	p := validation.NewPath("metadata")
	now := NewTime(time.Unix(1e9, 0))
	old := ObjectMeta{Name: "n", Namespace: "ns", UID: "u", ResourceVersion: "5", Generation: 3, CreationTimestamp: now}
	for _, c := range []struct {
		why  string
		edit func(m *ObjectMeta)
		want []string
	}{
		{"same", func(*ObjectMeta) {}, nil},
		{"generation", func(m *ObjectMeta) { m.Generation = 2 }, []string{"metadata.generation FieldValueInvalid"}},
		{"name", func(m *ObjectMeta) { m.Name = "m" }, []string{"metadata.name FieldValueInvalid"}},
		{"namespace", func(m *ObjectMeta) { m.Namespace = "m" }, []string{"metadata.namespace FieldValueInvalid"}},
		{"uid", func(m *ObjectMeta) { m.UID = "v" }, []string{"metadata.uid FieldValueInvalid"}},
		{"created", func(m *ObjectMeta) { m.CreationTimestamp = Time{} }, []string{"metadata.creationTimestamp FieldValueInvalid"}},
		{"deleted", func(m *ObjectMeta) { m.DeletionTimestamp = &now }, []string{"metadata.deletionTimestamp FieldValueInvalid"}},
		{"grace", func(m *ObjectMeta) { m.DeletionGracePeriodSeconds = new(int64(1)) }, []string{"metadata.deletionGracePeriodSeconds FieldValueInvalid"}},
	} {
		m := old
		c.edit(&m)
		require.Equal(t, c.want, texts(ValidateMetaUpdate(&m, &old, p)), c.why)
	}
	going := old
	going.DeletionTimestamp, going.Finalizers = &now, []string{"a.test/x"}
	more := going
	more.Finalizers = []string{"a.test/x", "a.test/y"}
	require.Equal(t, []string{"metadata.finalizers FieldValueForbidden"}, texts(ValidateMetaUpdate(&more, &going, p)))
	none := going
	none.Finalizers = nil
	require.Empty(t, ValidateMetaUpdate(&none, &going, p))
}

func TestValidateConditions(t *testing.T) {
	p := validation.NewPath("c")
	good := Condition{Type: "Ready", Status: ConditionTrue, Reason: "Fine", LastTransitionTime: NewTime(time.Unix(1, 0))}
	require.Empty(t, ValidateConditions([]Condition{good}, p))
	require.Equal(t, []string{"c[1].type FieldValueDuplicate"}, texts(ValidateConditions([]Condition{good, good}, p)))
	// The texts are those of kube-apiserver 1.36.3.
	errs := ValidateConditions([]Condition{{ObservedGeneration: -1}, {Type: "Ready", Status: ConditionTrue, Reason: strings.Repeat("e-", 600)}}, p)
	for _, want := range []string{
		`c[0].type: Invalid value: "": name part must be non-empty`,
		`c[0].type: Invalid value: "": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
		`c[0].status: Unsupported value: "": supported values: "False", "True", "Unknown"`,
		`c[0].observedGeneration: Invalid value: -1: must be greater than or equal to zero`,
		`c[0].lastTransitionTime: Required value`,
		`c[0].reason: Required value`,
		`c[1].lastTransitionTime: Required value`,
		`c[1].reason: Invalid value: "` + strings.Repeat("e-", 600) + `": a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')`,
		`c[1].reason: Too long: may not be more than 1024 bytes`,
	} {
		require.NotEmpty(t, errs, want)
		require.Equal(t, want, errs[0].Error())
		errs = errs[1:]
	}
	require.Empty(t, errs)
}
