package kubefeatures_test

import (
	"fmt"

	"github.com/keelson-dev/keelson/apimachinery/featuregate"
	"github.com/keelson-dev/keelson/controllers/kubefeatures"
)

func Example() {
	set := kubefeatures.Kubernetes()
	err := set.Fix(map[featuregate.Feature]kubefeatures.Fixed{"PodDeletionCost": {On: true, Why: "the cost always counts"}})
	if err != nil {
		panic(err)
	}
	gate, err := set.Gate()
	if err != nil {
		panic(err)
	}
	fmt.Println(gate.Set("ImageVolumeWithDigest=true"), gate.Enabled("ImageVolumeWithDigest"))
	fmt.Println(gate.Set("PodDeletionCost=false"))
	fmt.Println(gate.Set("JobManagedBy=false"))
	fmt.Println(gate.Set("NoSuchFeature=true"))
	// Output:
	// <nil> true
	// cannot set feature gate PodDeletionCost to false, feature is locked to true: the cost always counts
	// cannot set feature gate JobManagedBy to false, feature is locked to true
	// unrecognized feature gate: NoSuchFeature
}
