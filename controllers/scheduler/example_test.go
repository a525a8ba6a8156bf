package scheduler_test

import (
	"fmt"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/scheduler"
)

// What if: a decision without a cluster.
func ExampleCluster_Schedule() {
	node := func(name, cpu string) *corev1.Node {
		room := corev1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse("8Gi"), "pods": resource.MustParse("10")}
		return &corev1.Node{ObjectMeta: controllertest.Name("", name), Status: corev1.NodeStatus{Capacity: room, Allocatable: room}}
	}
	pod := func(cpu string) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: controllertest.Name("default", "p")}
		p.Spec.Containers = []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{"cpu": resource.MustParse(cpu)}}}}
		return p
	}
	c := scheduler.NewCluster(nil)
	c.SetNode(node("small", "1"))
	c.SetNode(node("large", "4"))
	fmt.Println(c.Schedule(pod("2")).Node)
	fmt.Println(c.Schedule(pod("8")).Reasons)
	// Output:
	// large
	// map[Insufficient cpu:2]
}
