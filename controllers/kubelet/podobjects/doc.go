// Package podobjects keeps the objects that the pods of a node refer to, such as their ConfigMaps and
// Secrets, for as long as a pod does.
//
//	secrets := client.For[*corev1.Secret](conn)
//	store := podobjects.NewCache(secrets, podobjects.CacheOptions[*corev1.Secret]{})
//	m := podobjects.NewManager(store, names)
//	m.RegisterPod(pod)
//	secret, err := m.GetObject(ctx, pod.Namespace, "db-password")
//	m.UnregisterPod(pod)
//
// A [Manager] knows which pods there are and what they refer to; a [Store] gets the objects: with a request
// each time ([NewGet]), at most once per interval ([NewCache]), or with a watch per object ([NewWatch]). All
// are safe for concurrent use.
package podobjects
