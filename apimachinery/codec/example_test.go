package codec_test

import (
	"fmt"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// Website is a custom resource as its author writes it: no generated code.
type Website struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              WebsiteSpec `json:"spec,omitempty"`
}

// WebsiteSpec is what the user asks for.
type WebsiteSpec struct {
	Domains  []string `json:"domains,omitempty"`
	Replicas *int32   `json:"replicas,omitempty"`
}

func Example() {
	var site Website
	issues, err := codec.UnmarshalYAML([]byte(`
apiVersion: example.com/v1
kind: Website
metadata: {name: blog}
spec:
  domains: [blog.example.com]
  replica: 3
`), &site, codec.DecodeOptions{Strict: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, issue := range issues {
		fmt.Println(issue)
	}

	draft := codec.DeepCopy(&site)
	draft.Spec.Domains[0] = "draft.example.com"

	out, err := codec.Marshal(&site)
	fmt.Println(string(out), err)
	// Output:
	// unknown field "spec.replica"
	// {"kind":"Website","apiVersion":"example.com/v1","metadata":{"name":"blog"},"spec":{"domains":["blog.example.com"]}} <nil>
}

func ExampleUnmarshalOptions() {
	var site Website
	_, err := codec.UnmarshalOptions([]byte(`{"spec":{"domains":["a",5]}}`), &site, codec.DecodeOptions{})
	fmt.Println(err)
	// Output: spec.domains[1]: cannot decode number 5 into string (at byte 24)
}
