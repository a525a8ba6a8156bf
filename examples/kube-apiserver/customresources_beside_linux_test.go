package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// widgetSchema is the schema of the spec of the kind that TestCustomResourcesBeside defines.
const widgetSchema = `{"type":"object","required":["name"],"properties":{
		"name":{"type":"string","minLength":2,"maxLength":10,"pattern":"^[a-z]+$","x-kubernetes-validations":[{"rule":"self == oldSelf","message":"the name stays"}]},
		"replicas":{"type":"integer","minimum":0,"maximum":10,"default":1},"port":{"x-kubernetes-int-or-string":true},"when":{"type":"string","format":"date-time"},
		"color":{"type":"string","enum":["red","blue"],"default":"red"},"open":{"type":"object","x-kubernetes-preserve-unknown-fields":true},
		"maybe":{"type":"string","nullable":true},"set":{"type":"array","maxItems":9,"x-kubernetes-list-type":"set","items":{"type":"string"}},
		"map":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"type":"object","required":["k"],"properties":{"k":{"type":"string"},"v":{"type":"string"}}}},
		"template":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true},
		"range":{"type":"object","properties":{"min":{"type":"integer"},"max":{"type":"integer"},"tag":{"type":"string","maxLength":5,"default":"none"}},"x-kubernetes-validations":[
			{"rule":"self.min <= self.max","messageExpression":"'range ' + self.tag + ' is empty'","reason":"FieldValueForbidden","fieldPath":".min"}]},
		"cidr":{"type":"string","maxLength":40,"x-kubernetes-validations":[{"rule":"isCIDR(self) && cidr(self).containsIP('10.0.0.1')","message":"no such network"}]},
		"size":{"type":"string","maxLength":40,"x-kubernetes-validations":[{"rule":"isQuantity(self) && quantity(self).isLessThan(quantity('1Gi'))","message":"too large"}]},
		"version":{"type":"string","maxLength":40,"x-kubernetes-validations":[{"rule":"isSemver(self) && semver(self).isGreaterThan(semver('1.0.0'))","message":"too old"}]},
		"url":{"type":"string","maxLength":40,"x-kubernetes-validations":[{"rule":"isURL(self) && url(self).getScheme() == 'https'","message":"https only"}]},
		"label":{"type":"string","maxLength":40,"x-kubernetes-validations":[{"rule":"!format.dns1123Label().validate(self).hasValue()","message":"no label"}]},
		"words":{"type":"string","maxLength":40,"x-kubernetes-validations":[{"rule":"self.find('[0-9]+') == '' && self.split(' ').size() < 3","message":"no two words"}]},
		"once":{"type":"string","maxLength":40,"x-kubernetes-validations":[{"rule":"!oldSelf.hasValue() || self == oldSelf.value()","optionalOldSelf":true,"message":"once only"}]}}}`

// widgetSpecs are those of objects of that kind, right and wrong ones.
var widgetSpecs = []string{
	`"name":"ab","unknown":1,"open":{"x":{"y":1}},"maybe":null,"color":null`, `"name":"ab","template":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x","nope":1},"spec":{"a":1}}`, `"name":"ab","template":{"kind":"Pod"}`,
	``, `"name":"a"`, `"name":"ABC"`, `"name":"abcdefghijk"`, `"name":"ab","replicas":11`, `"name":"ab","replicas":"1"`, `"name":"ab","replicas":1.5`, `"name":"ab","port":1.5`, `"name":"ab","port":"http"`, `"name":"ab","port":80`,
	`"name":"ab","when":"yesterday"`, `"name":"ab","when":"2020-01-02T03:04:05Z"`, `"name":"ab","color":"green"`, `"name":"ab","set":["a","a"]`, `"name":"ab","map":[{"k":"a"},{"k":"a"}]`, `"name":"ab","map":[{"v":"a"}]`,
	`"name":"ab","range":{"min":3,"max":2}`, `"name":"ab","range":{"min":1,"max":2}`, `"name":"ab","cidr":"10.0.0.0/8"`, `"name":"ab","cidr":"192.168.0.0/16"`, `"name":"ab","cidr":"x"`, `"name":"ab","size":"1Mi"`, `"name":"ab","size":"2Gi"`,
	`"name":"ab","version":"1.2.3"`, `"name":"ab","version":"0.9.0"`, `"name":"ab","url":"https://a.test/b"`, `"name":"ab","url":"http://a.test"`, `"name":"ab","label":"a-b"`, `"name":"ab","label":"A_b"`, `"name":"ab","words":"one two"`, `"name":"ab","words":"one two three"`, `"name":"ab","words":"w0"`,
}

func definition(plural, kind, more, versions string) string {
	return fmt.Sprintf(`{"metadata":{"name":"%s.a.test"},"spec":{"group":"a.test","scope":"Namespaced","names":{"plural":%q,"singular":%q,"kind":%q%s},"versions":[%s]}}`, plural, plural, strings.ToLower(kind), kind, more, versions)
}

func version(name string, storage bool, schema, more string) string {
	return fmt.Sprintf(`{"name":%q,"served":true,"storage":%t,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":%s,"status":{"type":"object","properties":{"replicas":{"type":"integer"},"phase":{"type":"string"}}}}}}%s}`, name, storage, schema, more)
}

const (
	crds    = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	widgets = "/apis/a.test/v1/namespaces/default/widgets"
)

// widgetColumns is the rest of a version of that kind.
const widgetColumns = `,"subresources":{"status":{},"scale":{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas"}},"selectableFields":[{"jsonPath":".spec.color"}],
		"additionalPrinterColumns":[{"name":"Color","type":"string","jsonPath":".spec.color"},{"name":"When","type":"date","jsonPath":".spec.when"},{"name":"Replicas","type":"integer","jsonPath":".spec.replicas","priority":1}]`

func mergeOf(path, body string, shown ...string) step {
	return step{method: "PATCH", path: path, body: body, contentType: "application/merge-patch+json", shown: append(shown, "spec", "metadata.generation")}
}

// TestCustomResourcesBeside walks through what a CustomResourceDefinition can say, on both servers: schema,
// defaults, pruning, rules, ratcheting, versions, subresources, columns, selectable fields and deletion.
func TestCustomResourcesBeside(t *testing.T) {
	theirs, ours := startUpstream(t), startLive(t)
	for _, l := range []*live{theirs, ours} {
		l.until("the namespace default is there", func() bool { return l.code(l.http2, "/api/v1/namespaces/default") == http.StatusOK })
	}
	n := 0
	do := func(r step) {
		t.Helper()
		n++
		compareStep(t, theirs, ours, n, r)
	}
	served := func(path string) {
		t.Helper()
		for _, l := range []*live{theirs, ours} {
			l.until(path+" is served", func() bool { return l.code(l.http2, path) == http.StatusOK })
		}
	}
	v1 := version("v1", true, widgetSchema, widgetColumns)
	names := `,"shortNames":["wg"],"categories":["all"]`

	// Definitions that are refused, and one that is not.
	for _, wrong := range []string{
		definition("widgets", "Widget", "", ""), definition("widgets", "Widget", "", version("v1", false, widgetSchema, "")),
		definition("widgets", "Widget", "", version("v1", true, `{"type":"object","properties":{"a":{}}}`, "")),
		definition("widgets", "Widget", "", version("v1", true, `{"type":"object","properties":{"a":{"type":"string","default":7}}}`, "")),
		definition("widgets", "Widget", "", version("v1", true, `{"type":"object","properties":{"a":{"type":"string","x-kubernetes-validations":[{"rule":"self."}]}}}`, "")),
		definition("widgets", "Widget", "", version("v1", true, `{"type":"object","x-kubernetes-validations":[{"rule":"true","fieldPath":".nope"}]}`, "")),
		definition("widgets", "Widget", "", version("v1", true, `{"type":"object","properties":{"l":{"type":"array","items":{"type":"array","items":{"type":"string","x-kubernetes-validations":[{"rule":"self.matches('a')"}]}}}}}`, "")),
		definition("widgets", "Widget", "", version("v1", true, widgetSchema, `,"selectableFields":[{"jsonPath":".spec.nope"}]`)), definition("widgets", "Widget", "", version("v1", true, widgetSchema, `,"additionalPrinterColumns":[{"name":"A","type":"text","jsonPath":".a"}]`)),
	} {
		n++
		compareStep(t, theirs, ours, n, step{method: "POST", path: crds, body: wrong})
		require.GreaterOrEqual(t, ours.verdict("POST", crds, wrong).Code, 400, wrong)
	}
	do(step{method: "POST", path: crds, body: definition("widgets", "Widget", names, v1), shown: []string{"spec"}})
	served(widgets)
	do(step{method: "GET", path: crds + "/widgets.a.test", shown: []string{"status.storedVersions", "status.acceptedNames"}})
	do(step{method: "POST", path: crds, body: definition("wages", "Wage", names, v1)})
	for _, l := range []*live{theirs, ours} {
		l.until("the names are decided about", func() bool {
			_, shown := l.do(step{method: "GET", path: crds + "/wages.a.test", shown: []string{"status.conditions"}})
			return strings.Contains(shown, `"NamesAccepted"`) && strings.Contains(shown, `"Established"`)
		})
	}
	do(step{method: "GET", path: crds + "/wages.a.test", shown: []string{"status.acceptedNames"}})
	for _, l := range []*live{theirs, ours} {
		require.Equal(t, http.StatusNotFound, l.code(l.http2, "/apis/a.test/v1/namespaces/default/wages"))
	}
	do(step{method: "DELETE", path: crds + "/wages.a.test"})

	// Objects: what is kept, filled in, pruned and refused.
	put := func(name, spec string) string {
		return fmt.Sprintf(`{"apiVersion":"a.test/v1","kind":"Widget","metadata":{"name":%q},"spec":{%s}}`, name, spec)
	}
	for i, spec := range widgetSpecs {
		do(step{method: "POST", path: widgets, body: put(fmt.Sprint("w", i), spec), shown: []string{"spec", "metadata.generation"}})
		do(step{method: "POST", path: widgets + "?fieldValidation=Strict", body: put(fmt.Sprint("s", i), spec), shown: []string{"spec"}})
	}
	do(mergeOf(widgets+"/w0", `{"spec":{"name":"cd"}}`))
	do(mergeOf(widgets+"/w0", `{"spec":{"once":"a"}}`))
	do(mergeOf(widgets+"/w0", `{"spec":{"once":"b"}}`))
	do(mergeOf(widgets+"/w0", `{"spec":{"replicas":3},"status":{"phase":"ignored"}}`, "status"))
	do(mergeOf(widgets+"/w0/status", `{"spec":{"replicas":4},"status":{"phase":"Up","replicas":2}}`, "status"))
	do(step{method: "GET", path: widgets + "/w0/scale", shown: []string{"spec", "status", "kind", "apiVersion"}})
	do(mergeOf(widgets+"/w0/scale", `{"spec":{"replicas":5}}`, "status"))
	do(mergeOf(widgets+"/w0/scale", `{"spec":{"replicas":50}}`))
	do(mergeOf(widgets+"/w1", `{"spec":{"color":"blue"}}`))
	do(step{method: "GET", path: widgets + "?fieldSelector=spec.color%3Dblue", shown: []string{"items.0.metadata.name"}})
	do(step{method: "GET", path: widgets + "?fieldSelector=spec.nope%3Dblue"})
	do(step{method: "GET", path: widgets + "/w14", accept: "application/json;as=Table;v=v1;g=meta.k8s.io", shown: []string{"rows.0.cells"}})
	do(step{method: "GET", path: "/apis/a.test/v1", shown: []string{"resources.0"}})

	definitionChanges(theirs, ours, do, served)
	definitionGoes(theirs, ours)
}

// definitionChanges changes the schema and the versions of the definition.
func definitionChanges(theirs, ours *live, do func(step), served func(path string)) {
	// Ratcheting: a stricter schema leaves alone what does not change. A new default shows in what is stored.
	stricter := strings.Replace(strings.Replace(widgetSchema, `"enum":["red","blue"]`, `"enum":["blue"]`, 1), `"default":"red"`, `"default":"blue"`, 1)
	stricter = strings.Replace(stricter, `"maybe":`, `"added":{"type":"string","default":"later"},"maybe":`, 1)
	do(mergeOf(crds+"/widgets.a.test", `{"spec":{"versions":[`+version("v1", true, stricter, widgetColumns)+`]}}`))
	for _, l := range []*live{theirs, ours} {
		l.until("the new default shows", func() bool {
			_, shown := l.do(step{method: "GET", path: widgets + "/w0", shown: []string{"spec.added"}})
			return strings.Contains(shown, "later")
		})
	}
	do(step{method: "GET", path: widgets + "/w0", shown: []string{"spec"}})
	do(mergeOf(widgets+"/w0", `{"spec":{"replicas":7}}`))
	do(mergeOf(widgets+"/w1", `{"spec":{"color":"red"}}`))

	// Versions: a second one without conversion, the storage version moves, and none that is stored can go.
	both := version("v1", false, stricter, widgetColumns) + "," + version("v2", true, stricter, widgetColumns)
	do(mergeOf(crds+"/widgets.a.test", `{"spec":{"versions":[`+both+`]}}`, "status.storedVersions"))
	served("/apis/a.test/v2/namespaces/default/widgets")
	do(step{method: "GET", path: "/apis/a.test/v2/namespaces/default/widgets/w0", shown: []string{"apiVersion", "spec"}})
	do(step{method: "GET", path: crds + "/widgets.a.test", shown: []string{"status.storedVersions"}})
	do(mergeOf(crds+"/widgets.a.test", `{"spec":{"versions":[`+version("v2", true, stricter, widgetColumns)+`]}}`))
}

// definitionGoes deletes the definition on both servers: that takes the objects along.
func definitionGoes(both ...*live) {
	for _, l := range both {
		l.verdict(http.MethodDelete, crds+"/widgets.a.test", "")
		l.until("the definition is gone", func() bool { return l.code(l.http2, crds+"/widgets.a.test") == http.StatusNotFound })
		l.until("and its objects are", func() bool {
			return l.code(l.http2, "/apis/a.test/v2/namespaces/default/widgets") == http.StatusNotFound
		})
	}
}
