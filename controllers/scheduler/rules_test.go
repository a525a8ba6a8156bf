package scheduler_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/api/schedulingv1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/internal/volumematch"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/scheduler"
)

// rule is a change that makes a pod fit which a plugin has refused.
type rule struct {
	plugin string
	before func(c *controllertest.Cluster)
	pod    func(p *corev1.Pod)
	after  func(c *controllertest.Cluster)
}

func editNode(edit func(n *corev1.Node)) func(c *controllertest.Cluster) {
	return func(c *controllertest.Cluster) { controllertest.Update(c, "", "a", edit) }
}

func addPod(name, cpu string, edit ...func(p *corev1.Pod)) func(c *controllertest.Cluster) {
	return func(c *controllertest.Cluster) { create(c, name, cpu, edit...) }
}

func deletePod(name string) func(c *controllertest.Cluster) {
	return func(c *controllertest.Cluster) { deleteNow(c, name) }
}

func endPod(name string) func(c *controllertest.Cluster) {
	return func(c *controllertest.Cluster) {
		controllertest.UpdateStatus(c, "default", name, func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })
	}
}

func editPod(name string, edit func(p *corev1.Pod)) func(c *controllertest.Cluster) {
	return func(c *controllertest.Cluster) { controllertest.Update(c, "default", name, edit) }
}

func port(p *corev1.Pod) {
	p.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80}}
}

func spread(p *corev1.Pod) {
	app("x")(p)
	p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "rack", WhenUnsatisfiable: corev1.DoNotSchedule,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}}}
}

func otherRack(c *controllertest.Cluster) {
	controllertest.Update(c, "", "a", func(n *corev1.Node) { n.Labels["rack"] = "1" })
	addNode(c, "b", "4", "10")
	controllertest.Update(c, "", "b", func(n *corev1.Node) { n.Labels["rack"] = "2"; n.Spec.Unschedulable = true })
	c.Settle() // no pod may be seen before the change
}

func devicesFor(objs ...string) func(c *controllertest.Cluster) {
	return func(c *controllertest.Cluster) {
		for _, o := range objs {
			switch o {
			case "class":
				controllertest.Create(c, &resourcev1.DeviceClass{ObjectMeta: controllertest.Name("", "gpu")})
			case "slice":
				controllertest.Create(c, resourceSlice("a", gpu("0", "x", "8Gi")))
			default:
				controllertest.Create(c, resourceClaim(o, exactly("gpu", 1)))
			}
		}
	}
}

// availableVolume does what the controller of volumes does too.
func availableVolume(c *controllertest.Cluster) {
	makeVolume(c, "v", "a")
	controllertest.UpdateStatus(c, "", "v", func(v *corev1.PersistentVolume) { v.Status.Phase = corev1.VolumeAvailable })
}

// boundVolume makes a claim that is bound to a volume of its own.
func boundVolume(name string, edit func(v *corev1.PersistentVolume, cl *corev1.PersistentVolumeClaim)) func(c *controllertest.Cluster) {
	return func(c *controllertest.Cluster) {
		v, cl := volume(name, "", 1), claim(name, "", 1, boundTo(name))
		v.Status.Phase, cl.UID = "", ""
		if edit != nil {
			edit(v, cl)
		}
		controllertest.Create(c, cl)
		made := controllertest.Get[*corev1.PersistentVolumeClaim](c, "default", name)
		v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "default", Name: name, UID: made.UID}
		controllertest.Create(c, v)
	}
}

// attachable lets node a attach some volumes.
func attachable(count int32) func(c *controllertest.Cluster) {
	return func(c *controllertest.Cluster) {
		n := limits("a", count)
		n.Spec.Drivers[0].NodeID = "a"
		controllertest.Create(c, n)
	}
}

// smallStorage has a class and a claim of it which is larger than what node a has.
func smallStorage(c *controllertest.Cluster) {
	controllertest.Create(c, &storagev1.CSIDriver{ObjectMeta: controllertest.Name("", "driver.example.com"), Spec: storagev1.CSIDriverSpec{StorageCapacity: new(true)}})
	controllertest.Create(c, storageClass("made", "driver.example.com"))
	controllertest.Create(c, &storagev1.CSIStorageCapacity{ObjectMeta: controllertest.Name("default", "a"), StorageClassName: "made",
		NodeTopology: &metav1.LabelSelector{MatchLabels: map[string]string{hostname: "a"}}, Capacity: new(resource.MustParse("1Mi"))})
	makeClaim(c, "v", "made")
}

func all(list ...func(c *controllertest.Cluster)) func(c *controllertest.Cluster) {
	return func(c *controllertest.Cluster) {
		for _, f := range list {
			f(c)
		}
	}
}

// rules are those of the default plugins, on a node a with 4 CPUs.
var rules = map[string]rule{
	"a pod is deleted": {"NodeResourcesFit", addPod("x", "3"), requests("2", "1Mi"), deletePod("x")},
	"a pod ends":       {"NodeResourcesFit", addPod("x", "3"), requests("2", "1Mi"), endPod("x")},
	"a node is larger": {"NodeResourcesFit", nil, requests("5", "1Mi"), func(c *controllertest.Cluster) {
		controllertest.UpdateStatus(c, "", "a", func(n *corev1.Node) { n.Status.Allocatable = amounts("8", "8Gi", "10") })
	}},
	"a node is new":        {"NodeResourcesFit", nil, requests("5", "1Mi"), func(c *controllertest.Cluster) { addNode(c, "b", "8", "10") }},
	"a node is uncordoned": {"NodeUnschedulable", editNode(func(n *corev1.Node) { n.Spec.Unschedulable = true }), nil, editNode(func(n *corev1.Node) { n.Spec.Unschedulable = false })},
	"a taint is removed":   {"TaintToleration", editNode(taint("k", corev1.TaintEffectNoSchedule)), nil, editNode(func(n *corev1.Node) { n.Spec.Taints = nil })},
	"the pod tolerates": {"TaintToleration", editNode(taint("k", corev1.TaintEffectNoSchedule)), nil,
		editPod("p", func(p *corev1.Pod) {
			p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Key: "k", Operator: corev1.TolerationOpExists})
		})},
	"a label is set":                       {"NodeAffinity", nil, func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "ssd"} }, editNode(func(n *corev1.Node) { n.Labels["disk"] = "ssd" })},
	"a port is free":                       {"NodePorts", addPod("x", "1", port), port, deletePod("x")},
	"the pod to be near to is new":         {"InterPodAffinity", nil, near("y", corev1.LabelHostname), addPod("y", "1", app("y"))},
	"a pod gets the label":                 {"InterPodAffinity", addPod("y", "1"), near("y", corev1.LabelHostname), editPod("y", func(p *corev1.Pod) { p.Labels = map[string]string{"app": "y"} })},
	"the pod to be apart from is gone":     {"InterPodAffinity", addPod("y", "1", app("y")), apart("y", corev1.LabelHostname), deletePod("y")},
	"a pod that wants to be alone is gone": {"InterPodAffinity", addPod("y", "1", apart("z", corev1.LabelHostname)), app("z"), deletePod("y")},
	"a pod loses the label":                {"InterPodAffinity", addPod("y", "1", app("y")), apart("y", corev1.LabelHostname), editPod("y", func(p *corev1.Pod) { p.Labels = nil })},
	"a namespace gets the label": {"InterPodAffinity", all(func(c *controllertest.Cluster) {
		controllertest.Create(c, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other"}})
	}, addPod("y", "1", app("y"), func(p *corev1.Pod) { p.Namespace = "other" })), func(p *corev1.Pod) {
		near("y", corev1.LabelHostname)(p)
		p.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "t"}}
	}, func(c *controllertest.Cluster) {
		controllertest.Update(c, "", "other", func(n *corev1.Namespace) { n.Labels["team"] = "t" })
	}},
	"a pod of the spread is gone": {"PodTopologySpread", all(otherRack, addPod("x", "1", app("x"))), spread, deletePod("x")},
	"a domain is gone":            {"PodTopologySpread", all(otherRack, addPod("x", "1", app("x"))), spread, func(c *controllertest.Cluster) { controllertest.Delete[*corev1.Node](c, "", "b") }},
	"the other domain has one": {"PodTopologySpread", all(otherRack, addPod("x", "1", app("x"))), spread,
		func(c *controllertest.Cluster) { create(c, "z", "1", app("x"), on("b")) }},
	"a node gets the key": {"PodTopologySpread", nil, spread, editNode(func(n *corev1.Node) { n.Labels["rack"] = "1" })},
	"a volume is new": {"VolumeBinding", func(c *controllertest.Cluster) {
		controllertest.Create(c, storageClass("static", volumematch.NoProvisioner))
		makeClaim(c, "v", "static")
	}, uses("v"), func(c *controllertest.Cluster) { availableVolume(c) }},
	"a claim is new": {"VolumeRestrictions", func(c *controllertest.Cluster) {
		controllertest.Create(c, storageClass("static", volumematch.NoProvisioner))
		availableVolume(c)
	}, uses("v"), func(c *controllertest.Cluster) { makeClaim(c, "v", "static") }},
	"a disk is free": {"VolumeRestrictions", addPod("x", "1", gce("d", false)), gce("d", false), deletePod("x")},
	"a claim for one pod is free": {"VolumeRestrictions", all(boundVolume("v", func(v *corev1.PersistentVolume, cl *corev1.PersistentVolumeClaim) {
		onlyOne(cl)
		v.Spec.AccessModes = cl.Spec.AccessModes
	}), addPod("x", "1", uses("v"))), uses("v"), deletePod("x")},
	"more volumes can be attached": {"NodeVolumeLimits", all(attachable(1), boundVolume("v", nil), boundVolume("w", nil), addPod("x", "1", uses("v"))), uses("w"),
		func(c *controllertest.Cluster) {
			controllertest.Update(c, "", "a", func(n *storagev1.CSINode) { n.Spec.Drivers[0].Allocatable.Count = new(int32(2)) })
		}},
	"a pod with volumes is gone": {"NodeVolumeLimits", all(attachable(1), boundVolume("v", nil), boundVolume("w", nil), addPod("x", "1", uses("v"))), uses("w"), deletePod("x")},
	"a volume is detached": {"NodeVolumeLimits", all(attachable(1), boundVolume("v", nil), boundVolume("w", nil), func(c *controllertest.Cluster) {
		controllertest.Create(c, &storagev1.VolumeAttachment{ObjectMeta: controllertest.Name("", "x"), Spec: storagev1.VolumeAttachmentSpec{
			Attacher: "driver", NodeName: "a", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: new("v")}}})
	}), uses("w"), func(c *controllertest.Cluster) { controllertest.Delete[*storagev1.VolumeAttachment](c, "", "x") }},
	"a volume is in another zone": {"VolumeZone", all(editNode(zone("a")), boundVolume("v", func(v *corev1.PersistentVolume, _ *corev1.PersistentVolumeClaim) {
		v.Labels = map[string]string{corev1.LabelTopologyZone: "b"}
	})), uses("v"), func(c *controllertest.Cluster) {
		controllertest.Update(c, "", "v", func(v *corev1.PersistentVolume) { v.Labels[corev1.LabelTopologyZone] = "a" })
	}},
	"a storage class is new": {"VolumeBinding", func(c *controllertest.Cluster) { makeClaim(c, "v", "made") }, uses("v"),
		func(c *controllertest.Cluster) { controllertest.Create(c, storageClass("made", "driver.example.com")) }},
	"storage has more": {"VolumeBinding", smallStorage, uses("v"), func(c *controllertest.Cluster) {
		controllertest.Update(c, "default", "a", func(s *storagev1.CSIStorageCapacity) { s.Capacity = new(resource.MustParse("10Gi")) })
	}},
	"storage is not counted": {"VolumeBinding", smallStorage, uses("v"), func(c *controllertest.Cluster) {
		controllertest.Update(c, "", "driver.example.com", func(d *storagev1.CSIDriver) { d.Spec.StorageCapacity = new(false) })
	}},
	"devices are new":           {"DynamicResources", devicesFor("class", "one"), usesDevices("one"), devicesFor("slice")},
	"a claim of devices is new": {"DynamicResources", devicesFor("class", "slice"), usesDevices("one"), devicesFor("one")},
	"a class is new":            {"DynamicResources", devicesFor("one", "slice"), usesDevices("one"), devicesFor("class")},
	"devices are free": {"DynamicResources", all(devicesFor("class", "slice", "one", "two"), addPod("x", "1", usesDevices("two"))), usesDevices("one"), all(endPod("x"),
		func(c *controllertest.Cluster) {
			controllertest.UpdateStatus(c, "default", "two", func(x *resourcev1.ResourceClaim) { x.Status = resourcev1.ResourceClaimStatus{} })
		})},
}

// waitsForVolume are the rules after which the pod has room and waits for its claim, which no controller
// binds here.
var waitsForVolume = map[string]bool{"a volume is new": true, "a claim is new": true, "a storage class is new": true, "storage has more": true,
	"storage is not counted": true}

// A pod waits for the plugin that has refused it and is tried when that may have changed: soon after each
// change that makes it fit, long before it would be tried without one. The model tries every pod at every
// change: it says that the pod fits.
func TestQueueingRules(t *testing.T) {
	for name, r := range rules {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var s *scheduler.Scheduler
				c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{func(m *manager.Manager) (err error) {
					s, err = scheduler.New(m, scheduler.Options{})
					return err
				}}})
				addNode(c, "a", "4", "10")
				if r.before != nil {
					r.before(c)
				}
				c.Sleep(15 * time.Second)
				if r.pod == nil {
					r.pod = func(*corev1.Pod) {}
				}
				create(c, "p", "100m", r.pod)
				c.Sleep(15 * time.Second) // its back-off is over
				q := s.Dump().Queue
				require.Len(t, q, 1)
				state := "unschedulable"
				if name == "a claim of devices is new" {
					state = "gated"
				}
				require.Equal(t, "default/p "+state, fmt.Sprint(q[0].Pod, " ", q[0].State))
				require.Contains(t, q[0].RefusedBy, r.plugin)
				attempts := q[0].Attempts
				controllertest.Update(c, "", "a", func(n *corev1.Node) { n.Annotations = map[string]string{"x": "y"} })
				c.Sleep(time.Second)
				require.Equal(t, attempts, s.Dump().Queue[0].Attempts, "nothing has changed that matters")
				r.after(c)
				c.Sleep(11 * time.Second)
				if waitsForVolume[name] {
					require.Equal(t, "in flight", s.Dump().Queue[0].State)
					return
				}
				p, model := get(c, "p"), s.Simulate()
				bound := p.Spec.NodeName
				p.Spec.NodeName = ""
				model.RemovePod(p.UID)
				fits := model.Schedule(p)
				require.NotEmpty(t, fits.Node, fits.Message())
				require.NotEmpty(t, bound, scheduled(p).Message)
			})
		})
	}
}

// SchedulingGates: a gated pod is in no queue until its last gate is removed, and is scheduled then.
func TestGatedPodsWait(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		addNode(c, "a", "4", "10")
		create(c, "p", "1", func(p *corev1.Pod) {
			p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "x.y/1"}, {Name: "x.y/2"}}
		})
		for left := 1; left >= 0; left-- {
			c.Sleep(time.Hour)
			require.Empty(t, get(c, "p").Spec.NodeName)
			require.Equal(t, "SchedulingGated", scheduled(get(c, "p")).Reason)
			controllertest.Update(c, "default", "p", func(p *corev1.Pod) { p.Spec.SchedulingGates = p.Spec.SchedulingGates[:left] })
		}
		c.Sleep(time.Second)
		require.Equal(t, "a", get(c, "p").Spec.NodeName)
	})
}

// PrioritySort and DefaultBinder: when room is free, the pod of the highest priority is bound first, whenever
// it came.
func TestHigherPriorityIsBoundFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{func(m *manager.Manager) error { return scheduler.Add(m, scheduler.Options{}) }}})
		for i, name := range []string{"low", "middle", "high"} {
			controllertest.Create(c, &schedulingv1.PriorityClass{ObjectMeta: controllertest.Name("", name), Value: int32(i+1) * 100})
		}
		addNode(c, "a", "4", "10")
		create(c, "full", "4", class("high"))
		c.Settle()
		for _, name := range []string{"low", "high", "middle"} {
			create(c, name, "3", class(name))
			c.Sleep(15 * time.Second)
		}
		for i, done := range []string{"full", "high", "middle"} {
			deleteNow(c, done)
			c.Sleep(15 * time.Second)
			for _, name := range []string{"high", "middle", "low"}[i:] {
				require.Equal(t, name == []string{"high", "middle", "low"}[i], get(c, name).Spec.NodeName != "", name)
			}
		}
	})
}

// ImageLocality: of nodes that are equal otherwise, the one with the image is selected.
func TestANodeWithTheImageIsPreferred(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		for _, name := range []string{"a", "b", "c"} {
			addNode(c, name, "4", "10")
		}
		controllertest.UpdateStatus(c, "", "b", func(n *corev1.Node) {
			n.Status.Images = []corev1.ContainerImage{{Names: []string{"image:latest"}, SizeBytes: 900 << 20}}
		})
		c.Settle()
		for i := range 3 {
			p := create(c, fmt.Sprint("p", i), "10m")
			c.Settle()
			require.Equal(t, "b", get(c, p.Name).Spec.NodeName)
			deleteNow(c, p.Name)
		}
	})
}
