package scheme_test

import (
	"fmt"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

// Boat is a custom resource: a plain struct, nothing generated.
type Boat struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              BoatSpec `json:"spec,omitempty"`
}

// BoatSpec is what a boat should be.
type BoatSpec struct {
	Masts int32 `json:"masts,omitempty"`
}

// A type is registered once, under its kind and resource.
func Example() {
	s := scheme.New()
	harbour := schema.GroupVersion{Group: "harbour.example.com", Version: "v1"}
	if err := scheme.Add[*Boat](s, harbour, scheme.Kind{Resource: "boats", Namespaced: true, ShortNames: []string{"bt"}}); err != nil {
		panic(err)
	}
	info, err := scheme.InfoFor[*Boat](s)
	fmt.Println(info.GVK.Kind, info.GVR, err)
	_, err = scheme.InfoFor[*metav1.PartialObjectMetadata](s)
	fmt.Println(err)
	// Output:
	// Boat harbour.example.com/v1, Resource=boats <nil>
	// scheme: *metav1.PartialObjectMetadata is not registered: call scheme.Add[*metav1.PartialObjectMetadata](s, groupVersion, scheme.Kind{Resource: ...}) first
}
