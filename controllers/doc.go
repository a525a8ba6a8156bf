// Package controllers is the reconciler kit: it joins informers, a work queue and a [reconcile.Reconciler]
// into a controller and adds it to a manager.
//
//	m := manager.New(conn, manager.Options{})
//	websites := informers.For[*Website](m.Informers()).Lister()
//	deployments := client.For[*appsv1.Deployment](m.Conn())
//	reconciler := reconcile.Func(func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
//		site, err := websites.Get(r)
//		if err != nil {
//			return reconcile.Result{}, apierrors.IgnoreNotFound(err)
//		}
//		opts := client.ApplyOptions{FieldManager: "website", Force: true}
//		_, err = deployments.Apply(ctx, desired(site), opts)
//		return reconcile.Result{}, err
//	})
//	if _, err := controllers.Add(m, "website", reconciler, controllers.Options{},
//		controllers.For[*Website](), controllers.Owns[*Website, *appsv1.Deployment]()); err != nil {
//		return err
//	}
//	return m.Run(ctx)
//
// The Example is the complete program. A controller waits for its sources, including those added with
// [Reads]. A source that cannot sync, for example because a permission is missing, does not block other
// controllers.
//
// The manager's connection makes its own writes visible in its informers immediately. Reconcilers therefore
// read from listers without expectations or sleeps and never act on a state older than their own last write.
//
// What sources and listers hold is an option of the manager, [informers.Cache]: all objects, or those in some
// namespaces or of some labels, by default and by type. An operator that is limited to namespaces needs a
// Role in each of them and nothing else: list and watch for what it reads, and what its writes, events
// (create, patch) and lease (get, create, update, watch) need.
//
// [From] adds an informer that the type alone does not identify: metadata only, any kind, another cluster.
// [Clusters] are for programs that work on several: one controller has the objects of clusters that come and
// go. Keys need not be those of objects: a [reconcile.Reconciler] of any comparable type is added in the same
// way.
//
// # Packages
//
// The kit:
//
//   - controllers: Add, the sources and predicates, owner references, several clusters.
//   - reconcile: the contract between a controller and its reconciler.
//   - controller: a queue of keys and its workers.
//   - manager: starts and stops the parts of a program; leader election.
//   - clustersecrets: engages the clusters of the kubeconfigs in Secrets.
//   - health, metrics, webhook: the HTTP endpoints of a program.
//   - profiles: the pages of net/http/pprof, where a program serves them.
//   - tracing: OpenTelemetry spans from an event to requests; a module of its own.
//   - controllertest: a control plane inside go test, on virtual time.
//
// The components of a cluster, built with the kit:
//
//   - builtin: the list of the controllers of kube-controller-manager. Each is a package below it, with an
//     Add of its own.
//   - scheduler, kubelet, proxy, clusterdns: kube-scheduler, kubelet, kube-proxy and the cluster's DNS
//     server.
//   - noderuntime: starts the container runtime of a real node.
//   - fakenode: simulates nodes without containers.
package controllers
