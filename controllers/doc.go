// Package controllers is the reconciler kit: it joins informers, a work queue and a [reconcile.Reconciler] to a
// controller and adds it to a manager.
//
//	m := manager.New(conn, manager.Options{})
//	err := controllers.Add(m, "website", reconciler, controllers.Options{},
//		controllers.For[*v1.Website](),
//		controllers.Owns[*v1.Website, *appsv1.Deployment](),
//		controllers.Watches(func(e informers.Event[*corev1.Secret]) []reconcile.Request { ... }))
//	err = m.Run(ctx)
//
// Because the manager's connection makes own writes visible in its informers at once, reconcilers
// read from listers without expectations or sleeps and still never act on a state older than their
// own last write.
//
// The packages below it: reconcile (the contract), controller (queue and workers), manager (start
// and stop), controllertest (a control plane inside go test), and one per built-in controller.
package controllers
