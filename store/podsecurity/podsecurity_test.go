package podsecurity_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/store/podsecurity"
)

func pod(t testing.TB, text string) *corev1.Pod {
	var p corev1.Pod
	require.NoError(t, codec.Unmarshal([]byte(text), &p))
	return &p
}

// hardened is a pod that passes every check at every version.
const hardened = `{"spec":{"securityContext":{"runAsNonRoot":true,"seccompProfile":{"type":"RuntimeDefault"}},"containers":[{"name":"c",
"securityContext":{"allowPrivilegeEscalation":false,"runAsUser":1000,"capabilities":{"drop":["ALL"],"add":["NET_BIND_SERVICE"]}}}],
"volumes":[{"name":"v","emptyDir":{}}]}}`

// restrictable returns a hardened pod with fields of its spec and of its container added.
func restrictable(t testing.TB, annotations map[string]string, spec, container string) *corev1.Pod {
	p := pod(t, hardened)
	p.Annotations = annotations
	require.NoError(t, codec.Unmarshal([]byte(spec), &p.Spec))
	require.NoError(t, codec.Unmarshal([]byte(container), &p.Spec.Containers[0]))
	return p
}

// Each violation is reported by its check, at the versions that have the check, and by no other check.
func TestChecks(t *testing.T) {
	const b, r = podsecurity.Baseline, podsecurity.Restricted
	for _, c := range []struct {
		name            string
		level           podsecurity.Level
		from, to        int // the first version with the violation and the last
		annotations     map[string]string
		spec, container string
		check           string
		detail          string // the whole text
	}{
		{name: "privileged", level: b, to: 99, container: `{"securityContext":{"privileged":true}}`,
			check: "privileged", detail: `privileged (container "c" must not set securityContext.privileged=true)`},
		{name: "host namespaces", level: b, to: 99, spec: `{"hostNetwork":true,"hostPID":true,"hostIPC":true}`,
			check: "hostNamespaces", detail: `host namespaces (hostNetwork=true, hostPID=true, hostIPC=true)`},
		{name: "host path at baseline", level: b, to: 99, spec: `{"volumes":[{"name":"h","hostPath":{"path":"/"}}]}`,
			check: "hostPathVolumes", detail: `hostPath volumes (volume "h")`},
		{name: "host path at restricted", level: r, to: 99, spec: `{"volumes":[{"name":"h","hostPath":{"path":"/"}},{"name":"n","nfs":{}}]}`,
			check: "restrictedVolumes", detail: `restricted volume types (volumes "h", "n" use restricted volume types "hostPath", "nfs")`},
		{name: "unknown volume", level: r, to: 99, spec: `{"volumes":[{"name":"n"}]}`,
			check: "restrictedVolumes", detail: `restricted volume types (volume "n" uses restricted volume type "unknown")`},
		{name: "host ports", level: b, to: 99, container: `{"ports":[{"hostPort":9},{"hostPort":80},{"containerPort":1}]}`,
			check: "hostPorts", detail: `hostPort (container "c" uses hostPorts 80, 9)`},
		{name: "host port of an init container", level: b, to: 99, spec: `{"initContainers":[{"name":"i","ports":[{"hostPort":80}]}]}`,
			check: "hostPorts", detail: `hostPort (container "i" uses hostPort 80)`},
		{name: "host port of an ephemeral container", level: b, to: 99, spec: `{"ephemeralContainers":[{"name":"e","ports":[{"hostPort":80}]}]}`,
			check: "hostPorts", detail: `hostPort (container "e" uses hostPort 80)`},
		{name: "host of a probe", level: b, from: 34, to: 99, container: `{"livenessProbe":{"httpGet":{"host":"h"}},"lifecycle":{"preStop":{"tcpSocket":{"host":"a"}}}}`,
			check: "hostProbesAndHostLifecycle", detail: `probe or lifecycle host (container "c" uses probe or lifecycle hosts "a", "h")`},
		{name: "AppArmor by field", level: b, to: 99, spec: `{"securityContext":{"appArmorProfile":{"type":"Unconfined"}}}`,
			check: "appArmorProfile", detail: `forbidden AppArmor profile (pod must not set AppArmor profile type to "Unconfined")`},
		{name: "AppArmor by annotation", level: b, to: 99, annotations: map[string]string{"container.apparmor.security.beta.kubernetes.io/c": "unconfined", "container.apparmor.security.beta.kubernetes.io/d": "localhost/x"},
			check: "appArmorProfile", detail: `forbidden AppArmor profile (annotation must not set AppArmor profile type to "container.apparmor.security.beta.kubernetes.io/c="unconfined"")`},
		{name: "SELinux type", level: b, to: 30, spec: `{"securityContext":{"seLinuxOptions":{"type":"container_engine_t"}}}`,
			check: "seLinuxOptions", detail: `seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: type "container_engine_t")`},
		{name: "SELinux user and role", level: b, to: 99, container: `{"securityContext":{"seLinuxOptions":{"type":"container_t","user":"u","role":"r"}}}`,
			check: "seLinuxOptions", detail: `seLinuxOptions (container "c" set forbidden securityContext.seLinuxOptions: user may not be set; role may not be set)`},
		{name: "proc mount", level: b, to: 99, container: `{"securityContext":{"procMount":"Unmasked"}}`,
			check: "procMount", detail: `procMount (container "c" must not set securityContext.procMount to "Unmasked")`},
		{name: "proc mount in a user namespace", level: b, to: 34, spec: `{"hostUsers":false}`, container: `{"securityContext":{"procMount":"Unmasked"}}`,
			check: "procMount", detail: `procMount (container "c" must not set securityContext.procMount to "Unmasked")`},
		{name: "proc mount in a user namespace at restricted", level: r, from: 35, to: 99, spec: `{"hostUsers":false}`, container: `{"securityContext":{"procMount":"Unmasked"}}`,
			check: "procMount_restricted", detail: `procMount (container "c" must not set securityContext.procMount to "Unmasked")`},
		{name: "seccomp by field at baseline", level: b, from: 19, to: 99, container: `{"securityContext":{"seccompProfile":{"type":"Unconfined"}}}`,
			check: "seccompProfile_baseline", detail: `seccompProfile (container "c" must not set securityContext.seccompProfile.type to "Unconfined")`},
		{name: "seccomp by annotation", level: b, to: 18, annotations: map[string]string{"seccomp.security.alpha.kubernetes.io/pod": "unconfined", "container.seccomp.security.alpha.kubernetes.io/c": "docker/default"},
			check: "seccompProfile_baseline", detail: `seccompProfile (forbidden annotation seccomp.security.alpha.kubernetes.io/pod="unconfined")`},
		{name: "seccomp unset", level: r, from: 19, to: 99, spec: `{"securityContext":{"seccompProfile":null}}`,
			check: "seccompProfile_restricted", detail: `seccompProfile (pod or container "c" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")`},
		{name: "seccomp unset on Windows", level: r, from: 19, to: 24, spec: `{"os":{"name":"windows"},"securityContext":{"seccompProfile":null}}`,
			check: "seccompProfile_restricted", detail: `seccompProfile (pod or container "c" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")`},
		{name: "sysctl of v1.27", level: b, to: 26, spec: `{"securityContext":{"sysctls":[{"name":"net.ipv4.ip_local_reserved_ports"}]}}`,
			check: "sysctls", detail: `forbidden sysctls (net.ipv4.ip_local_reserved_ports)`},
		{name: "sysctl of v1.29", level: b, to: 28, spec: `{"securityContext":{"sysctls":[{"name":"net.ipv4.tcp_keepalive_time"}]}}`,
			check: "sysctls", detail: `forbidden sysctls (net.ipv4.tcp_keepalive_time)`},
		{name: "sysctl of v1.32", level: b, to: 31, spec: `{"securityContext":{"sysctls":[{"name":"net.ipv4.tcp_rmem"},{"name":"net.ipv4.tcp_syncookies"}]}}`,
			check: "sysctls", detail: `forbidden sysctls (net.ipv4.tcp_rmem)`},
		{name: "host process", level: b, to: 99, spec: `{"securityContext":{"windowsOptions":{"hostProcess":true}}}`, container: `{"securityContext":{"windowsOptions":{"hostProcess":true}}}`,
			check: "windowsHostProcess", detail: `hostProcess (pod and container "c" must not set securityContext.windowsOptions.hostProcess=true)`},
		{name: "added capability at baseline", level: b, to: 99, container: `{"securityContext":{"capabilities":{"add":["NET_RAW","CHOWN"]}}}`,
			check: "capabilities_baseline", detail: `non-default capabilities (container "c" must not include "NET_RAW" in securityContext.capabilities.add)`},
		{name: "kept and added capabilities", level: r, from: 22, to: 99, container: `{"securityContext":{"capabilities":{"drop":null,"add":["CHOWN"]}}}`,
			check: "capabilities_restricted", detail: `unrestricted capabilities (container "c" must set securityContext.capabilities.drop=["ALL"]; container "c" must not include "CHOWN" in securityContext.capabilities.add)`},
		{name: "kept capabilities on Windows", level: r, from: 22, to: 24, spec: `{"os":{"name":"windows"}}`, container: `{"securityContext":{"capabilities":null}}`,
			check: "capabilities_restricted", detail: `unrestricted capabilities (container "c" must set securityContext.capabilities.drop=["ALL"])`},
		{name: "privilege escalation", level: r, from: 8, to: 99, container: `{"securityContext":{"allowPrivilegeEscalation":null}}`,
			check: "allowPrivilegeEscalation", detail: `allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false)`},
		{name: "privilege escalation on Windows", level: r, from: 8, to: 24, spec: `{"os":{"name":"windows"}}`, container: `{"securityContext":{"allowPrivilegeEscalation":null}}`,
			check: "allowPrivilegeEscalation", detail: `allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false)`},
		{name: "root unless refused", level: r, to: 99, spec: `{"securityContext":{"runAsNonRoot":null}}`,
			check: "runAsNonRoot", detail: `runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true)`},
		{name: "root not refused", level: r, to: 99, container: `{"securityContext":{"runAsNonRoot":false}}`,
			check: "runAsNonRoot", detail: `runAsNonRoot != true (container "c" must not set securityContext.runAsNonRoot=false)`},
		{name: "root in a user namespace", level: r, to: 34, spec: `{"hostUsers":false,"securityContext":{"runAsNonRoot":false}}`, container: `{"securityContext":{"runAsNonRoot":true}}`,
			check: "runAsNonRoot", detail: `runAsNonRoot != true (pod must not set securityContext.runAsNonRoot=false)`},
		{name: "user 0", level: r, from: 23, to: 99, container: `{"securityContext":{"runAsUser":0}}`,
			check: "runAsUser", detail: `runAsUser=0 (container "c" must not set runAsUser=0)`},
		{name: "user 0 in a user namespace", level: r, from: 23, to: 34, spec: `{"hostUsers":false,"securityContext":{"runAsUser":0}}`,
			check: "runAsUser", detail: `runAsUser=0 (pod must not set runAsUser=0)`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := restrictable(t, c.annotations, or(c.spec), or(c.container))
			for minor := range 41 {
				got := podsecurity.Evaluate(c.level, podsecurity.V1(minor), &p.ObjectMeta, &p.Spec)
				if minor < c.from || minor > c.to {
					for _, v := range got.Violations {
						require.NotEqual(t, c.check, v.Check, "v1.%d", minor)
					}
					continue
				}
				require.Equal(t, c.detail, got.Detail(), "v1.%d", minor)
				require.Equal(t, c.check, got.Violations[0].Check)
				require.False(t, got.Allowed())
			}
			require.True(t, podsecurity.Evaluate(podsecurity.Privileged, podsecurity.Version{}, &p.ObjectMeta, &p.Spec).Allowed())
			require.Equal(t, c.to == 99, !podsecurity.Evaluate(c.level, podsecurity.Version{}, &p.ObjectMeta, &p.Spec).Allowed(), "latest")
		})
	}
}

func or(text string) string {
	if text == "" {
		return "{}"
	}
	return text
}

// A hardened pod passes everywhere. An unknown level is the strictest one.
func TestHardened(t *testing.T) {
	p := pod(t, hardened)
	for minor := range 41 {
		for _, level := range []podsecurity.Level{podsecurity.Privileged, podsecurity.Baseline, podsecurity.Restricted} {
			got := podsecurity.Evaluate(level, podsecurity.V1(minor), &p.ObjectMeta, &p.Spec)
			require.True(t, got.Allowed(), "%s v1.%d: %s", level, minor, got.Detail())
		}
	}
	p.Spec.SecurityContext = nil
	require.Equal(t, "runAsNonRoot != true, seccompProfile", podsecurity.Evaluate("strict", podsecurity.Version{}, &p.ObjectMeta, &p.Spec).Reason())
}

// Evaluations use the memory of earlier ones again: results do not depend on what runs beside them or later.
func TestEvaluateConcurrently(t *testing.T) {
	allowed, few, many := pod(t, hardened), pod(t, hardened), pod(t, hardened)
	few.Spec.SecurityContext = nil
	many.Spec.HostNetwork, many.Spec.HostPID = true, true
	many.Spec.Containers[0].SecurityContext = nil
	many.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80}, {HostPort: 443}}
	all := []*corev1.Pod{allowed, few, many}
	var first []podsecurity.Result
	var details []string
	for _, p := range all {
		r := podsecurity.Evaluate(podsecurity.Restricted, podsecurity.Version{}, &p.ObjectMeta, &p.Spec)
		first, details = append(first, r), append(details, strings.Clone(r.Detail()))
	}
	require.Equal(t, []int{0, 2, 4}, []int{len(first[0].Violations), len(first[1].Violations), len(first[2].Violations)})
	var running sync.WaitGroup
	for range 4 {
		running.Go(func() {
			for i := range 300 {
				p := all[i%len(all)]
				if got := podsecurity.Evaluate(podsecurity.Restricted, podsecurity.Version{}, &p.ObjectMeta, &p.Spec).Detail(); got != details[i%len(all)] {
					t.Errorf("got %q, alone it was %q", got, details[i%len(all)])
					return
				}
			}
		})
	}
	running.Wait()
	for i, r := range first {
		require.Equal(t, details[i], r.Detail(), "a result is not changed by later evaluations")
	}
}

func TestParse(t *testing.T) {
	for _, text := range []string{"latest", "v1.0", "v1.7", "v1.36", "v1.4711"} {
		v, err := podsecurity.ParseVersion(text)
		require.NoError(t, err)
		require.Equal(t, text, v.String())
	}
	require.Equal(t, podsecurity.V1(24), must(podsecurity.ParseVersion("v1.24")))
	for _, text := range []string{"", "1.24", "v1", "v1.", "v1.+1", "v1.-1", "v1.-0", "v1.01", "v2.0", "v1.24.1", "Latest", "v1.99999999999999999999"} {
		_, err := podsecurity.ParseVersion(text)
		require.EqualError(t, err, `must be "latest" or "v1.x"`, text)
	}
	require.Equal(t, podsecurity.Baseline, must(podsecurity.ParseLevel("baseline")))
	_, err := podsecurity.ParseLevel("Baseline")
	require.EqualError(t, err, "must be one of privileged, baseline, restricted")
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func BenchmarkEvaluate(b *testing.B) {
	allowed, refused := pod(b, hardened), pod(b, hardened)
	for _, p := range []*corev1.Pod{allowed, refused} {
		p.Spec.InitContainers = append(p.Spec.InitContainers, p.Spec.Containers[0])
		p.Spec.Containers = append(p.Spec.Containers, p.Spec.Containers[0], p.Spec.Containers[0])
		p.Annotations = map[string]string{"a": "b", "c": "d"}
	}
	refused.Spec.SecurityContext = nil
	for name, p := range map[string]*corev1.Pod{"allowed": allowed, "refused": refused} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if podsecurity.Evaluate(podsecurity.Restricted, podsecurity.Version{}, &p.ObjectMeta, &p.Spec).Allowed() != (p == allowed) {
					b.Fatal("wrong result")
				}
			}
		})
	}
}

func ExampleEvaluate() {
	spec := corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx", Ports: []corev1.ContainerPort{{HostPort: 80}}}}}
	result := podsecurity.Evaluate(podsecurity.Baseline, podsecurity.Version{}, &metav1.ObjectMeta{}, &spec)
	fmt.Println(result.Allowed(), result.Detail())
	// Output: false hostPort (container "web" uses hostPort 80)
}
