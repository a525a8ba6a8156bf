package corev1

// EachSecret calls visit with the name of every secret that a pod refers to, also repeatedly. Empty names are
// left out, and so are the secrets of volumes that it claims.
func EachSecret(spec *PodSpec, visit func(name string)) {
	named := func(name string) {
		if name != "" {
			visit(name)
		}
	}
	local := func(r *LocalObjectReference) {
		if r != nil {
			named(r.Name)
		}
	}
	for i := range spec.ImagePullSecrets {
		named(spec.ImagePullSecrets[i].Name)
	}
	eachEnv(spec, func(from *EnvFromSource) {
		if from.SecretRef != nil {
			named(from.SecretRef.Name)
		}
	}, func(v *EnvVarSource) {
		if v.SecretKeyRef != nil {
			named(v.SecretKeyRef.Name)
		}
	})
	for i := range spec.Volumes {
		switch v := &spec.Volumes[i]; {
		case v.Secret != nil:
			named(v.Secret.SecretName)
		case v.Projected != nil:
			for j := range v.Projected.Sources {
				if s := v.Projected.Sources[j].Secret; s != nil {
					named(s.Name)
				}
			}
		case v.AzureFile != nil:
			named(v.AzureFile.SecretName)
		case v.CephFS != nil:
			local(v.CephFS.SecretRef)
		case v.Cinder != nil:
			local(v.Cinder.SecretRef)
		case v.FlexVolume != nil:
			local(v.FlexVolume.SecretRef)
		case v.RBD != nil:
			local(v.RBD.SecretRef)
		case v.ScaleIO != nil:
			local(v.ScaleIO.SecretRef)
		case v.ISCSI != nil:
			local(v.ISCSI.SecretRef)
		case v.StorageOS != nil:
			local(v.StorageOS.SecretRef)
		case v.CSI != nil:
			local(v.CSI.NodePublishSecretRef)
		}
	}
}

// EachConfigMap calls visit with the name of every config map that a pod refers to, also repeatedly. Empty
// names are left out.
func EachConfigMap(spec *PodSpec, visit func(name string)) {
	named := func(name string) {
		if name != "" {
			visit(name)
		}
	}
	eachEnv(spec, func(from *EnvFromSource) {
		if from.ConfigMapRef != nil {
			named(from.ConfigMapRef.Name)
		}
	}, func(v *EnvVarSource) {
		if v.ConfigMapKeyRef != nil {
			named(v.ConfigMapKeyRef.Name)
		}
	})
	for i := range spec.Volumes {
		switch v := &spec.Volumes[i]; {
		case v.ConfigMap != nil:
			named(v.ConfigMap.Name)
		case v.Projected != nil:
			for j := range v.Projected.Sources {
				if c := v.Projected.Sources[j].ConfigMap; c != nil {
					named(c.Name)
				}
			}
		}
	}
}

// eachEnv calls its functions with the sources of the environments of all containers.
func eachEnv(spec *PodSpec, from func(*EnvFromSource), value func(*EnvVarSource)) {
	visit := func(sources []EnvFromSource, env []EnvVar) {
		for i := range sources {
			from(&sources[i])
		}
		for i := range env {
			if v := env[i].ValueFrom; v != nil {
				value(v)
			}
		}
	}
	for i := range spec.InitContainers {
		visit(spec.InitContainers[i].EnvFrom, spec.InitContainers[i].Env)
	}
	for i := range spec.Containers {
		visit(spec.Containers[i].EnvFrom, spec.Containers[i].Env)
	}
	for i := range spec.EphemeralContainers {
		visit(spec.EphemeralContainers[i].EnvFrom, spec.EphemeralContainers[i].Env)
	}
}
