package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
)

// manifest reads a file strictly: an unknown or repeated key is an error.
func manifest(t *testing.T, name string) []runtime.Object {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("manifests", name))
	if err != nil {
		t.Fatal(err)
	}
	decoder := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	var out []runtime.Object
	for doc := range bytes.SplitSeq(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")), []byte("\n---\n")) {
		o, _, err := decoder.Decode(doc, nil, nil)
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, doc)
		}
		out = append(out, o)
	}
	return out
}

// only returns the one object of a type.
func only[T any](t *testing.T, objects []runtime.Object) T {
	t.Helper()
	var found []T
	for _, o := range objects {
		if v, ok := o.(T); ok {
			found = append(found, v)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d of %T", len(found), *new(T))
	}
	return found[0]
}

// allowed are the verbs that the role allows, as fakeAPI notes them.
func allowed(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, r := range only[*rbacv1.ClusterRole](t, manifest(t, "rbac.yaml")).Rules {
		if len(r.ResourceNames)+len(r.NonResourceURLs) > 0 || len(r.APIGroups) != 1 {
			t.Errorf("a rule that this test cannot judge: %+v", r)
		}
		for _, resource := range r.Resources {
			for _, verb := range r.Verbs {
				out = append(out, verb+" "+resource)
			}
		}
	}
	slices.Sort(out)
	return out
}

func TestRBAC(t *testing.T) {
	objects := manifest(t, "rbac.yaml")
	account := only[*corev1.ServiceAccount](t, objects)
	role := only[*rbacv1.ClusterRole](t, objects)
	binding := only[*rbacv1.ClusterRoleBinding](t, objects)
	if len(objects) != 3 || binding.RoleRef.Name != role.Name || binding.RoleRef.Kind != "ClusterRole" ||
		len(binding.Subjects) != 1 || binding.Subjects[0].Name != account.Name || binding.Subjects[0].Namespace != account.Namespace {
		t.Errorf("the parts do not name each other: %+v", objects)
	}
	want := []string{"list nodes", "list servicecidrs", "patch nodes/status", "watch nodes"}
	if got := allowed(t); !slices.Equal(got, want) {
		t.Errorf("it allows %q, want %q", got, want)
	}
}

func TestDaemonSet(t *testing.T) {
	objects := manifest(t, "daemonset.yaml")
	ds := only[*appsv1.DaemonSet](t, objects)
	account := only[*corev1.ServiceAccount](t, manifest(t, "rbac.yaml"))
	spec := ds.Spec.Template.Spec
	if ds.Namespace != account.Namespace || spec.ServiceAccountName != account.Name {
		t.Errorf("it has not the rights of rbac.yaml: %s/%s", ds.Namespace, spec.ServiceAccountName)
	}
	for k, v := range ds.Spec.Selector.MatchLabels {
		if ds.Spec.Template.Labels[k] != v {
			t.Errorf("it does not select its own pods: %s", k)
		}
	}
	w := spec.SecurityContext.WindowsOptions
	if w.HostProcess == nil || !*w.HostProcess || !spec.HostNetwork || !strings.EqualFold(*w.RunAsUserName, `NT AUTHORITY\SYSTEM`) || spec.NodeSelector[corev1.LabelOSStable] != "windows" {
		t.Errorf("it is no HostProcess pod of Windows nodes: %+v", spec)
	}
	if len(spec.Containers) != 1 || len(spec.InitContainers) != 0 {
		t.Fatalf("containers: %+v", spec.Containers)
	}
	checkContainer(t, spec.Containers[0], spec.Volumes)
}

func checkContainer(t *testing.T, c corev1.Container, volumes []corev1.Volume) {
	t.Helper()
	// The program takes its arguments.
	conf, err := parseFlags(c.Args, nil)
	if err != nil {
		t.Fatalf("%q: %v", c.Args, err)
	}
	if len(conf.notes) > 0 {
		t.Errorf("%q: %q", c.Args, conf.notes)
	}
	if len(c.Command) != 1 || c.Command[0] != "$env:"+mountPoint+"/nodeagent.exe" {
		t.Errorf("command %q", c.Command)
	}
	// The file that it reads is the one that a volume brings.
	if len(c.VolumeMounts) != 1 || len(volumes) != 1 || volumes[0].Name != c.VolumeMounts[0].Name || volumes[0].ConfigMap == nil ||
		volumes[0].ConfigMap.Name != "kube-flannel-cfg" || conf.netConfPath != c.VolumeMounts[0].MountPath+"/net-conf.json" {
		t.Errorf("%s is not in %+v of %+v", conf.netConfPath, c.VolumeMounts, volumes)
	}
	if c.Env[0].Name != "NODE_NAME" || c.Env[0].ValueFrom.FieldRef.FieldPath != "spec.nodeName" {
		t.Errorf("it does not learn its node: %+v", c.Env)
	}
	if len(c.Ports) != 1 || c.Ports[0].ContainerPort != int32(conf.healthzPort) || c.Ports[0].HostPort != int32(conf.healthzPort) {
		t.Errorf("ports %+v, served on %d", c.Ports, conf.healthzPort)
	}
	// The probes ask for what is served.
	h := newHandler(fixed{Ready: true}, newMetrics(fixed{}).registry)
	for _, p := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe} {
		if got := p.HTTPGet.Port.String(); got != c.Ports[0].Name {
			t.Errorf("a probe asks port %s", got)
		}
		if code := ask(t, h, p.HTTPGet.Path); code != 200 {
			t.Errorf("%s: %d", p.HTTPGet.Path, code)
		}
	}
	// It is alive before the node is ready, or it would be killed while it waits.
	unready := newHandler(fixed{}, newMetrics(fixed{}).registry)
	if live, ready := ask(t, unready, c.LivenessProbe.HTTPGet.Path), ask(t, unready, c.ReadinessProbe.HTTPGet.Path); live != 200 || ready != 503 {
		t.Errorf("not ready: liveness %d, readiness %d", live, ready)
	}
}
