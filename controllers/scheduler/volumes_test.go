package scheduler_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/builtin/volumebinder"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/fakestorage"
	"github.com/keelson-dev/keelson/controllers/internal/volumematch"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/scheduler"
)

func storageClass(name, provisioner string, edit ...func(*storagev1.StorageClass)) *storagev1.StorageClass {
	c := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: provisioner,
		VolumeBindingMode: new(storagev1.VolumeBindingWaitForFirstConsumer)}
	for _, e := range edit {
		e(c)
	}
	return c
}

func gigabytes(n int) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(fmt.Sprintf("%dGi", n))}
}

func claim(name, class string, size int, edit ...func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: "uid-of-claim"}}
	c.Spec.StorageClassName, c.Spec.Resources.Requests = &class, gigabytes(size)
	c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	for _, e := range edit {
		e(c)
	}
	return c
}

// boundTo is a claim that is bound for good.
func boundTo(volume string) func(*corev1.PersistentVolumeClaim) {
	return func(c *corev1.PersistentVolumeClaim) {
		c.Spec.VolumeName = volume
		c.Annotations = map[string]string{volumematch.BindCompleted: "yes"}
	}
}

func onlyOne(c *corev1.PersistentVolumeClaim) {
	c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}
}

func volume(name, class string, size int, edit ...func(*corev1.PersistentVolume)) *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}}
	v.Spec.Capacity, v.Spec.StorageClassName = gigabytes(size), class
	v.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	v.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "driver", VolumeHandle: name}
	v.Status.Phase = corev1.VolumeAvailable
	for _, e := range edit {
		e(v)
	}
	return v
}

func reachedBy(key string, values ...string) func(*corev1.PersistentVolume) {
	return func(v *corev1.PersistentVolume) {
		v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}}}}}}
	}
}

// uses lets a pod use claims.
func uses(claims ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		for _, name := range claims {
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}})
		}
	}
}

func disk(source corev1.VolumeSource) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "disk", VolumeSource: source})
	}
}

func gce(name string, readOnly bool) func(*corev1.Pod) {
	return disk(corev1.VolumeSource{GCEPersistentDisk: &corev1.GCEPersistentDiskVolumeSource{PDName: name, ReadOnly: readOnly}})
}

func limits(node string, count int32) *storagev1.CSINode {
	n := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: node}}
	n.Spec.Drivers = []storagev1.CSINodeDriver{{Name: "driver", Allocatable: &storagev1.VolumeNodeResources{Count: &count}}}
	return n
}

// with adds objects to a cluster.
func with(c *scheduler.Cluster, objs ...metav1.Object) *scheduler.Cluster {
	for _, o := range objs {
		switch o := o.(type) {
		case *corev1.Node:
			c.SetNode(o)
		case *corev1.Pod:
			c.SetPod(o)
		default:
			if !c.SetObject(o) {
				panic(fmt.Sprintf("%T does not count", o))
			}
		}
	}
	return c
}

// What the four plugins of volumes say of three nodes in zones a, b and none.
func TestVolumes(t *testing.T) {
	const elsewhere, missing = "node(s) didn't match PersistentVolume's node affinity", "node(s) didn't find available persistent volumes to bind"
	inZone := func(z string) func(*corev1.PersistentVolume) { return reachedBy(corev1.LabelTopologyZone, z) }
	capacity := func(size int, zone string) *storagev1.CSIStorageCapacity {
		q := resource.MustParse(fmt.Sprintf("%dGi", size))
		return &storagev1.CSIStorageCapacity{ObjectMeta: metav1.ObjectMeta{Name: "in-" + zone}, StorageClassName: "made", Capacity: &q,
			NodeTopology: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelTopologyZone: zone}}}
	}
	driver := func(edit func(s *storagev1.CSIDriverSpec)) *storagev1.CSIDriver {
		d := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "driver"}}
		edit(&d.Spec)
		return d
	}
	for name, c := range map[string]struct {
		objects []metav1.Object
		pod     func(*corev1.Pod)
		nodes   string // the feasible ones
		reasons map[string]int
	}{
		"a claim that does not exist": {nil, uses("x"), "", map[string]int{`persistentvolumeclaim "x" not found`: 3}},
		"an immediate one":            {[]metav1.Object{claim("x", "other", 1)}, uses("x"), "", map[string]int{"pod has unbound immediate PersistentVolumeClaims": 3}},
		"bound":                       {[]metav1.Object{claim("x", "static", 1, boundTo("v")), volume("v", "static", 1, inZone("a"))}, uses("x"), "a", map[string]int{elsewhere: 2}},
		"bound to a missing volume":   {[]metav1.Object{claim("x", "static", 1, boundTo("v"))}, uses("x"), "", map[string]int{`persistentvolume "v" not found`: 3}},
		"static":                      {[]metav1.Object{claim("x", "static", 1), volume("v", "static", 1, reachedBy(hostname, "b"))}, uses("x"), "b", map[string]int{missing: 2}},
		"two claims, one volume":      {[]metav1.Object{claim("x", "static", 1), claim("y", "static", 1), volume("v", "static", 1)}, uses("x", "y"), "", map[string]int{missing: 3}},
		"to be made":                  {[]metav1.Object{claim("x", "made", 1)}, uses("x"), "abc", nil},
		"in allowed topologies":       {[]metav1.Object{claim("x", "zoned", 1)}, uses("x"), "b", map[string]int{missing: 2}},
		"in too little capacity":      {[]metav1.Object{claim("x", "made", 2), driver(func(s *storagev1.CSIDriverSpec) { s.StorageCapacity = new(true) }), capacity(1, "a"), capacity(2, "b")}, uses("x"), "b", map[string]int{"node(s) did not have enough free storage": 2}},
		"selected node": {[]metav1.Object{claim("x", "made", 1, func(c *corev1.PersistentVolumeClaim) {
			c.Annotations = map[string]string{volumematch.SelectedNode: "c"}
		})}, uses("x"), "c", map[string]int{missing: 2}},
		"being deleted": {[]metav1.Object{claim("x", "made", 1, func(c *corev1.PersistentVolumeClaim) { c.DeletionTimestamp = new(metav1.Now()) })}, uses("x"), "", map[string]int{`persistentvolumeclaim "x" is being deleted`: 3}},
		"lost":          {[]metav1.Object{claim("x", "made", 1, boundTo("v"), func(c *corev1.PersistentVolumeClaim) { c.Status.Phase = corev1.ClaimLost })}, uses("x"), "", map[string]int{`persistentvolumeclaim "x" bound to non-existent persistentvolume "v"`: 3}},
		"zone labels": {[]metav1.Object{claim("x", "static", 1, boundTo("v")), volume("v", "static", 1, func(v *corev1.PersistentVolume) {
			v.Labels = map[string]string{corev1.LabelFailureDomainBetaZone: "b__z"}
		})}, uses("x"), "bc", map[string]int{"node(s) had no available volume zone": 1}},
		"the only pod of a claim":      {[]metav1.Object{claim("x", "made", 1, onlyOne)}, uses("x"), "abc", nil},
		"a second pod":                 {[]metav1.Object{claim("x", "made", 1, onlyOne), pod("q", uses("x"), on("a"))}, uses("x"), "", map[string]int{"node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod": 3}},
		"a disk of another pod":        {[]metav1.Object{pod("q", gce("d", true), on("a")), pod("r", gce("d", false), on("b")), pod("s", gce("e", false), on("c"))}, gce("d", true), "ac", map[string]int{"node(s) had no available disk": 1}},
		"limits":                       {[]metav1.Object{claim("x", "static", 1, boundTo("v")), volume("v", "static", 1), limits("a", 0), limits("b", 1)}, uses("x"), "bc", map[string]int{"node(s) exceed max volume count": 1}},
		"limits, a volume of two pods": {[]metav1.Object{claim("x", "static", 1, boundTo("v")), volume("v", "static", 1), limits("a", 1), pod("q", uses("x"), on("a"))}, uses("x"), "abc", nil},
		"limits, a volume to be made":  {[]metav1.Object{claim("x", "made", 1), claim("y", "made", 1), limits("a", 1), pod("q", uses("y"), on("a"))}, uses("x"), "bc", map[string]int{"node(s) exceed max volume count": 1}},
		"limits, attached": {[]metav1.Object{claim("x", "static", 1, boundTo("v")), volume("v", "static", 1), volume("w", "static", 1), limits("a", 1),
			&storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: "at"}, Spec: storagev1.VolumeAttachmentSpec{NodeName: "a", Attacher: "driver", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: new("w")}}}}, uses("x"), "bc", map[string]int{"node(s) exceed max volume count": 1}},
		"a driver that must be there": {[]metav1.Object{claim("x", "static", 1, boundTo("v")), volume("v", "static", 1), limits("a", 9),
			driver(func(s *storagev1.CSIDriverSpec) { s.PreventPodSchedulingIfMissing = new(true) })}, uses("x"), "a", map[string]int{"driver CSI driver is not installed on the node": 2}},
		"limits, of a former plugin": {[]metav1.Object{claim("x", "static", 1, boundTo("v")), volume("v", "static", 1, func(v *corev1.PersistentVolume) {
			v.Spec.CSI, v.Spec.AWSElasticBlockStore = nil, &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: "id"}
		}), formerly("a", "kubernetes.io/aws-ebs"), formerly("b", "")}, uses("x"), "bc", map[string]int{"node(s) exceed max volume count": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			world := with(cluster(node("a", zone("a")), node("b", zone("b")), node("c")), storageClass("static", volumematch.NoProvisioner), storageClass("made", "driver"),
				storageClass("zoned", "driver", func(s *storagev1.StorageClass) {
					s.AllowedTopologies = []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: corev1.LabelTopologyZone, Values: []string{"b"}}}}}
				}))
			d := with(world, c.objects...).Schedule(pod("p", c.pod))
			got := ""
			for _, n := range slices.Sorted(maps.Keys(feasible(d))) {
				got += n
			}
			require.Equal(t, c.nodes, got, d.Reasons)
			if c.reasons == nil {
				c.reasons = map[string]int{}
			}
			require.Equal(t, c.reasons, d.Reasons)
		})
	}
}

func formerly(node, plugin string) *storagev1.CSINode {
	n := limits(node, 0)
	n.Spec.Drivers[0].Name = "ebs.csi.aws.com"
	n.Annotations = map[string]string{corev1.MigratedPluginsAnnotationKey: plugin}
	return n
}

// A claim that is made for a pod must be that pod's.
func TestEphemeralVolumes(t *testing.T) {
	p := pod("p", disk(corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}))
	c := with(cluster(node("a")), storageClass("made", "driver"))
	require.Equal(t, map[string]int{`waiting for ephemeral volume controller to create the persistentvolumeclaim "p-disk"`: 1}, c.Schedule(p).Reasons)
	with(c, claim("p-disk", "made", 1))
	require.Equal(t, map[string]int{"PVC default/p-disk was not created for pod default/p (pod is not owner)": 1}, c.Schedule(p).Reasons)
	with(c, claim("p-disk", "made", 1, func(c *corev1.PersistentVolumeClaim) {
		c.OwnerReferences = []metav1.OwnerReference{{Kind: "Pod", Name: "p", UID: "p", Controller: new(true)}}
	}))
	require.Equal(t, "a", c.Schedule(p).Node)
}

// Volumes on random hosts and in random zones: nodes are as feasible as volumematch says of all volumes one
// by one, plans never give a volume to two claims, and a rollback restores everything.
func TestVolumesAsCounted(t *testing.T) {
	for _, seed := range seeds.Of(t, 300) {
		r := seeds.Rand(seed)
		c := with(scheduler.NewCluster(nil), storageClass("static", volumematch.NoProvisioner), storageClass("made", "driver"))
		var nodes []*corev1.Node
		for i := range 1 + r.IntN(5) {
			nodes = append(nodes, node(fmt.Sprint("n", i), zone(fmt.Sprint("z", i%2))))
			c.SetNode(nodes[i])
		}
		var volumes []*corev1.PersistentVolume
		for i := range r.IntN(8) {
			v := volume(fmt.Sprint("v", i), []string{"static", "made"}[r.IntN(2)], 1+r.IntN(4))
			switch r.IntN(3) {
			case 0:
				reachedBy(hostname, fmt.Sprint("n", r.IntN(5)))(v)
			case 1:
				reachedBy(corev1.LabelTopologyZone, fmt.Sprint("z", r.IntN(2)))(v)
			}
			if r.IntN(4) == 0 {
				v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "default", Name: fmt.Sprint("c", r.IntN(6))}
			}
			volumes = append(volumes, v)
			c.SetObject(v)
		}
		claims := map[string]*corev1.PersistentVolumeClaim{}
		for i := range 6 {
			cl := claim(fmt.Sprint("c", i), []string{"static", "made"}[r.IntN(2)], 1+r.IntN(4))
			cl.UID = ""
			claims[cl.Name] = cl
			c.SetObject(cl)
		}
		before, m := c.Dump(), c.Mark()
		used := map[string]string{} // volumes by claim
		for i := range 3 {
			p := pod(fmt.Sprint("p", i), uses(fmt.Sprint("c", 2*i), fmt.Sprint("c", 2*i+1)))
			a, b := claims[fmt.Sprint("c", 2*i)], claims[fmt.Sprint("c", 2*i+1)]
			free := slices.DeleteFunc(slices.Clone(volumes), func(v *corev1.PersistentVolume) bool {
				return used[v.Name] != "" || v.Spec.StorageClassName != *a.Spec.StorageClassName && v.Spec.StorageClassName != *b.Spec.StorageClassName
			})
			want := map[string]bool{}
			for _, n := range nodes {
				var requests []volumematch.Request
				for _, cl := range []*corev1.PersistentVolumeClaim{a, b} {
					q, err := volumematch.NewRequest(cl)
					require.NoError(t, err)
					requests = append(requests, q)
				}
				ok := true
				for k, v := range volumematch.Assign(requests, slices.Values(free), func(v *corev1.PersistentVolume) bool { return volumematch.ReachesNode(v, n) }) {
					ok = ok && (v != nil || *requests[k].Claim.Spec.StorageClassName == "made")
				}
				if ok {
					want[n.Name] = true
				}
			}
			d := c.Schedule(p)
			require.Equal(t, want, feasible(d), "seed %d, pod %d", seed, i)
			if d.Node == "" {
				continue
			}
			c.Place(scheduler.NewPod(p), d.Node)
			for name, by := range c.PlannedVolumes(p.UID) {
				require.Empty(t, used[name], "seed %d: two claims have %s", seed, name)
				used[name] = by
			}
			require.Equal(t, c.PlannedVolumes(p.UID), c.Fork().PlannedVolumes(p.UID), "seed %d", seed)
		}
		c.Rollback(m)
		require.Equal(t, before, c.Dump(), "seed %d", seed)
	}
}

// withStorage runs a scheduler with the controllers of claims and a driver.
func withStorage(t *testing.T, f func(t *testing.T, c *controllertest.Cluster), wrap func(client.Conn) client.Conn) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{
			func(m *manager.Manager) error { return volumebinder.Add(m, volumebinder.Options{}) },
			func(m *manager.Manager) error { return fakestorage.Add(m, fakestorage.Options{}) },
		}})
		conn := c.Conn()
		if wrap != nil {
			conn = wrap(conn)
		}
		c.Run(c.ManagerOver(conn, "scheduler", func(m *manager.Manager) error { return scheduler.Add(m, scheduler.Options{}) }))
		controllertest.Create(c, storageClass("static", volumematch.NoProvisioner))
		controllertest.Create(c, storageClass("fake", fakestorage.Driver, func(s *storagev1.StorageClass) { s.Parameters = map[string]string{fakestorage.LocalParameter: "true"} }))
		f(t, c)
	})
}

func makeClaim(c *controllertest.Cluster, name, class string) {
	cl := claim(name, class, 1)
	cl.UID = ""
	controllertest.Create(c, cl)
}

func makeVolume(c *controllertest.Cluster, name, node string) {
	v := volume(name, "static", 1, reachedBy(hostname, node))
	v.Status.Phase = ""
	controllertest.Create(c, v)
}

// A claim that waits for a pod gets a volume on the pod's node, made or chosen, before the pod is bound.
func TestClaimsAreBoundFirst(t *testing.T) {
	withStorage(t, func(t *testing.T, c *controllertest.Cluster) {
		addNode(c, "a", "4", "10")
		addNode(c, "b", "4", "10")
		makeVolume(c, "v", "b")
		makeClaim(c, "made", "fake")
		makeClaim(c, "chosen", "static")
		create(c, "p", "1", uses("made", "chosen"))
		c.Sleep(time.Minute)
		require.Equal(t, "b", get(c, "p").Spec.NodeName)
		for _, name := range []string{"made", "chosen"} {
			require.Equal(t, corev1.ClaimBound, controllertest.Get[*corev1.PersistentVolumeClaim](c, "default", name).Status.Phase)
		}
		require.Equal(t, "b", controllertest.Get[*corev1.PersistentVolumeClaim](c, "default", "made").Annotations[volumematch.SelectedNode])
		require.Equal(t, "chosen", controllertest.Get[*corev1.PersistentVolume](c, "", "v").Spec.ClaimRef.Name)
	}, nil)
}

// Twenty pods with a claim each and ten local volumes: each volume has one claim, and the pods without one
// wait until there are more volumes.
func TestLocalVolumesOfManyPods(t *testing.T) {
	withStorage(t, func(t *testing.T, c *controllertest.Cluster) {
		for i := range 5 {
			addNode(c, fmt.Sprint("n", i), "8", "30")
			makeVolume(c, fmt.Sprint("v", 2*i), fmt.Sprint("n", i))
			makeVolume(c, fmt.Sprint("v", 2*i+1), fmt.Sprint("n", i))
		}
		for i := range 20 {
			makeClaim(c, fmt.Sprint("c", i), "static")
			create(c, fmt.Sprint("p", i), "100m", uses(fmt.Sprint("c", i)))
		}
		check := func(want int) {
			c.Sleep(time.Minute)
			bound, of := 0, map[string]bool{}
			for i := range 20 {
				node := get(c, fmt.Sprint("p", i)).Spec.NodeName
				cl := controllertest.Get[*corev1.PersistentVolumeClaim](c, "default", fmt.Sprint("c", i))
				require.Equal(t, node != "", cl.Spec.VolumeName != "")
				if node == "" {
					continue
				}
				bound++
				require.False(t, of[cl.Spec.VolumeName])
				of[cl.Spec.VolumeName] = true
				on := controllertest.Get[*corev1.PersistentVolume](c, "", cl.Spec.VolumeName).Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0].Values
				require.Equal(t, []string{node}, on)
			}
			require.Equal(t, want, bound)
		}
		check(10)
		for i := range 10 {
			makeVolume(c, fmt.Sprint("w", i), "n0")
		}
		check(20)
	}, nil)
}

// A pod whose volume is never made holds up no other, and is scheduled elsewhere when the provisioner
// gives up the node.
func TestAProvisionerThatFails(t *testing.T) {
	withStorage(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, storageClass("never", "never.example.com"))
		addNode(c, "a", "64", "110")
		for i := range 40 { // more than bindings at a time
			makeClaim(c, fmt.Sprint("stuck", i), "never")
			create(c, fmt.Sprint("stuck", i), "100m", uses(fmt.Sprint("stuck", i)))
		}
		create(c, "p", "1")
		c.Sleep(time.Second)
		require.Equal(t, "a", get(c, "p").Spec.NodeName)
		require.Equal(t, "a", controllertest.Get[*corev1.PersistentVolumeClaim](c, "default", "stuck3").Annotations[volumematch.SelectedNode])
		addNode(c, "b", "64", "110")
		controllertest.Update(c, "", "a", func(n *corev1.Node) { n.Spec.Unschedulable = true })
		controllertest.Update(c, "default", "stuck3", func(c *corev1.PersistentVolumeClaim) { delete(c.Annotations, volumematch.SelectedNode) })
		c.Sleep(30 * time.Second)
		require.Equal(t, "b", controllertest.Get[*corev1.PersistentVolumeClaim](c, "default", "stuck3").Annotations[volumematch.SelectedNode])
		require.Contains(t, scheduled(get(c, "stuck3")).Message, `provisioning failed for PVC "stuck3"`)
		require.Empty(t, get(c, "stuck3").Spec.NodeName)
		c.Sleep(10 * time.Minute)
		require.True(t, slices.ContainsFunc(controllertest.List[*corev1.Event](c, "default"), func(e *corev1.Event) bool {
			return e.InvolvedObject.Name == "stuck4" && e.Message == "binding volumes: the claims were not bound within 10m0s"
		}))
	}, nil)
}

// Writes of volumes and claims fail, or succeed without an answer: the pods are bound in the end, and each
// claim has a volume of its own.
func TestVolumesWithFaults(t *testing.T) {
	for _, seed := range seeds.Of(t, 5) {
		r, mu := seeds.Rand(seed), make(chan struct{}, 1)
		withStorage(t, func(t *testing.T, c *controllertest.Cluster) {
			for i := range 3 {
				addNode(c, fmt.Sprint("n", i), "8", "30")
				makeVolume(c, fmt.Sprint("v", i), fmt.Sprint("n", i))
			}
			for i := range 6 {
				makeClaim(c, fmt.Sprint("c", i), []string{"static", "fake"}[i%2])
				create(c, fmt.Sprint("p", i), "100m", uses(fmt.Sprint("c", i)))
			}
			c.Sleep(5 * time.Minute)
			of := map[string]bool{}
			for i := range 6 {
				cl := controllertest.Get[*corev1.PersistentVolumeClaim](c, "default", fmt.Sprint("c", i))
				require.NotEmpty(t, get(c, fmt.Sprint("p", i)).Spec.NodeName, "seed %d", seed)
				require.NotEmpty(t, cl.Spec.VolumeName, "seed %d", seed)
				require.False(t, of[cl.Spec.VolumeName], "seed %d", seed)
				of[cl.Spec.VolumeName] = true
			}
		}, func(conn client.Conn) client.Conn {
			return faulty{conn, func(_ context.Context, q *client.Request, send func() (*client.Response, error)) (*client.Response, error) {
				if q.Verb() != "update" || q.Resource.Resource != "persistentvolumes" && q.Resource.Resource != "persistentvolumeclaims" {
					return send()
				}
				mu <- struct{}{}
				n := r.IntN(3)
				<-mu
				switch n {
				case 0:
					return nil, errLost
				case 1:
					_, _ = send()
					return nil, errLost
				}
				return send()
			}}
		})
	}
}

// With a shape, nodes are scored by the share that the claims of a pod take of their storage: of the volumes
// that they would be bound to, or else of what there is to make volumes from.
func TestNodesAreScoredByTheirStorage(t *testing.T) {
	plugin, err := scheduler.NewVolumeBinding(0, []scheduler.ShapePoint{{Utilization: 0, Score: 10}, {Utilization: 100, Score: 0}})
	require.NoError(t, err)
	capacity := func(node, class string, size int) *storagev1.CSIStorageCapacity {
		c := &storagev1.CSIStorageCapacity{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: class + "-" + node}, StorageClassName: class}
		c.NodeTopology = &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelHostname: node}}
		c.Capacity = new(resource.MustParse(fmt.Sprintf("%dGi", size)))
		return c
	}
	driver := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "driver"}, Spec: storagev1.CSIDriverSpec{StorageCapacity: new(true)}}
	scores := func(claims []string, objs ...metav1.Object) map[string]int64 {
		c := scheduler.NewCluster(nil)
		with(c, driver, storageClass("fast", "driver"), storageClass("slow", "driver"), storageClass("static", volumematch.NoProvisioner))
		for _, name := range []string{"a", "b", "c"} {
			n := node(name)
			n.Status.Allocatable = amounts("4", "8Gi", "10")
			c.SetNode(n)
		}
		x := with(c, objs...).Explain(scheduler.Default().With(plugin, 1), pod("p", uses(claims...)), true)
		out := map[string]int64{}
		for _, s := range x.Scores {
			for i, n := range x.Feasible {
				if s.Plugin == "VolumeBinding" {
					require.Equal(t, s.Raw, s.Normalized)
					out[n.Node] = s.Raw[i]
				}
			}
		}
		return out
	}
	// Of c it is not known how much it has: it cannot have the claim.
	require.Equal(t, map[string]int64{"a": 50, "b": 90}, scores([]string{"x"}, claim("x", "fast", 10), capacity("a", "fast", 20), capacity("b", "fast", 100)))
	require.Equal(t, map[string]int64{"a": 0, "b": 80}, scores([]string{"x", "y"}, claim("x", "fast", 10), claim("y", "fast", 10), capacity("a", "fast", 15), capacity("b", "fast", 100)))
	require.Equal(t, map[string]int64{"a": 63, "b": 85}, scores([]string{"x", "y"}, claim("x", "fast", 10), claim("y", "slow", 10),
		capacity("a", "fast", 20), capacity("a", "slow", 40), capacity("b", "fast", 100), capacity("b", "slow", 50)))
	require.Equal(t, map[string]int64{"a": 0, "b": 75}, scores([]string{"x"}, claim("x", "static", 10),
		volume("small", "static", 10, reachedBy(corev1.LabelHostname, "a")), volume("large", "static", 40, reachedBy(corev1.LabelHostname, "b"))))
	// What a volume is made for does not count beside what is bound.
	require.Equal(t, map[string]int64{"b": 75}, scores([]string{"x", "y"}, claim("x", "static", 10), claim("y", "fast", 10), capacity("b", "fast", 1000),
		volume("large", "static", 40, reachedBy(corev1.LabelHostname, "b"))))
	for _, shape := range [][]scheduler.ShapePoint{nil, {{Utilization: 50, Score: 1}, {Utilization: 50, Score: 2}}, {{Utilization: 0, Score: 11}}} {
		_, err := scheduler.NewVolumeBinding(0, shape)
		require.ErrorContains(t, err, "shape")
	}
}
