// Package controllers is the reconciler kit: it joins informers, a work queue and a [reconcile.Reconciler] to
// a controller and adds it to a manager.
//
//	m := manager.New(conn, manager.Options{})
//	websites := informers.For[*Website](m.Informers()).Lister()
//	deployments := client.For[*appsv1.Deployment](m.Conn())
//	reconciler := reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
//		site, err := websites.Get(req)
//		if err != nil {
//			return reconcile.Result{}, ignoreNotFound(err)
//		}
//		_, err = deployments.Apply(ctx, desired(site), client.ApplyOptions{FieldManager: "website", Force: true})
//		return reconcile.Result{}, err
//	})
//	if _, err := controllers.Add(m, "website", reconciler, controllers.Options{},
//		controllers.For[*Website](), controllers.Owns[*Website, *appsv1.Deployment]()); err != nil {
//		return err
//	}
//	return m.Run(ctx)
//
// The Example has the rest of it. A controller waits for its sources, and for those that it [Reads]; one that
// cannot sync, for want of a right, holds up no others.
//
// Because the manager's connection makes own writes visible in its informers at once, reconcilers
// read from listers without expectations or sleeps and still never act on a state older than their
// own last write.
//
// What T alone does not name, [From] watches through an informer of the caller's: metadata only, any kind,
// some namespaces, another cluster. Several clusters are several managers: one is a Runnable, so it can be
// added to another, at any time, and informers of its set feed controllers of the other.
//
// The packages below it: reconcile (the contract), controller (queue and workers), manager (start
// and stop), health, metrics and webhook (what a program serves), controllertest (a control plane inside go
// test). The cluster's own parts are made of the same kit: builtin has one package per built-in controller of
// kube-controller-manager; scheduler, kubelet, proxy and clusterdns are the components of the same names;
// fakenode simulates nodes, noderuntime starts the container runtime of a real one.
package controllers
