//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/watch"
)

// fakeAPI is as much of an API server as the agent talks to: Nodes listed, got,
// watched, and patched by their status; ServiceCIDRs; Pods. It answers 403 to the
// rest, as RBAC does, and keeps a record of what was asked.
type fakeAPI struct {
	*httptest.Server
	t testing.TB

	mu       sync.Mutex
	nodes    map[string]*corev1.Node
	pods     map[string]*corev1.Pod // by namespace/name
	services []string               // CIDRs
	version  int
	watchers map[chan watch.Event]bool
	verbs    map[string]bool // "patch nodes/status"
	old      bool            // it sends no lists as events
}

func newFakeAPI(t testing.TB, nodes ...*corev1.Node) *fakeAPI {
	f := &fakeAPI{t: t, nodes: map[string]*corev1.Node{}, pods: map[string]*corev1.Pod{}, services: []string{"10.96.0.0/12"},
		watchers: map[chan watch.Event]bool{}, verbs: map[string]bool{}}
	for _, n := range nodes {
		f.put(n)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/nodes", f.listNodes)
	mux.HandleFunc("GET /api/v1/nodes/{name}", f.getNode)
	mux.HandleFunc("PATCH /api/v1/nodes/{name}/status", f.patchNode)
	mux.HandleFunc("GET /api/v1/namespaces/{namespace}/pods/{name}", f.getPod)
	mux.HandleFunc("GET /apis/networking.k8s.io/v1/servicecidrs", f.listServices)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		f.note(strings.ToLower(r.Method), r.URL.Path)
		f.refuse(w, http.StatusForbidden, metav1.StatusReasonForbidden, r.Method+" "+r.URL.Path)
	})
	f.Server = httptest.NewServer(mux)
	t.Cleanup(func() { // watches do not end by themselves
		f.CloseClientConnections()
		f.Close()
	})
	return f
}

func (f *fakeAPI) note(verb, resource string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.verbs[verb+" "+resource] = true
}

// asked returns what was asked for so far, sorted.
func (f *fakeAPI) asked() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for v := range f.verbs {
		out = append(out, v)
	}
	slices.Sort(out)
	return out
}

// refuseStreams makes it an older API server, which knows no lists as events,
// or no longer so.
func (f *fakeAPI) refuseStreams(on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.old = on
}

// put makes or replaces a Node, and tells those who watch.
func (f *fakeAPI) put(n *corev1.Node) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.putLocked(n)
}

func (f *fakeAPI) putLocked(n *corev1.Node) {
	kind := watch.Modified
	if f.nodes[n.Name] == nil {
		kind = watch.Added
	}
	f.version++
	n = n.DeepCopy()
	n.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}
	n.ResourceVersion = fmt.Sprint(f.version)
	f.nodes[n.Name] = n
	for w := range f.watchers {
		w <- watch.Event{Type: kind, Object: n}
	}
}

// node returns a Node as it is now.
func (f *fakeAPI) node(name string) *corev1.Node {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.nodes[name].DeepCopy()
}

func (f *fakeAPI) reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		f.t.Logf("fake API server: %v", err) // whoever asked has gone
	}
}

func (f *fakeAPI) refuse(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	f.reply(w, metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
		Code: int32(code), Reason: reason, Message: message})
}

func (f *fakeAPI) getNode(w http.ResponseWriter, r *http.Request) {
	f.note("get", "nodes")
	f.mu.Lock()
	n := f.nodes[r.PathValue("name")]
	f.mu.Unlock()
	if n == nil {
		f.refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound, r.PathValue("name"))
		return
	}
	f.reply(w, n)
}

func (f *fakeAPI) getPod(w http.ResponseWriter, r *http.Request) {
	f.note("get", "pods")
	f.mu.Lock()
	p := f.pods[r.PathValue("namespace")+"/"+r.PathValue("name")]
	f.mu.Unlock()
	if p == nil {
		f.refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound, r.PathValue("name"))
		return
	}
	f.reply(w, p)
}

func (f *fakeAPI) listServices(w http.ResponseWriter, _ *http.Request) {
	f.note("list", "servicecidrs")
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reply(w, networkingv1.ServiceCIDRList{
		TypeMeta: metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "ServiceCIDRList"},
		Items:    []networkingv1.ServiceCIDR{{ObjectMeta: metav1.ObjectMeta{Name: "kubernetes"}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: f.services}}},
	})
}

func (f *fakeAPI) listNodes(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("watch") != "" {
		f.watchNodes(w, r)
		return
	}
	f.note("list", "nodes")
	f.mu.Lock()
	defer f.mu.Unlock()
	list := corev1.NodeList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NodeList"}, ListMeta: metav1.ListMeta{ResourceVersion: fmt.Sprint(f.version)}}
	for _, n := range f.nodes {
		list.Items = append(list.Items, *n)
	}
	f.reply(w, list)
}

// watchNodes sends what changes from now on, and before it all that there is and
// a bookmark if that was asked for. Clients that list first miss nothing: a
// version that is not the newest is gone here.
func (f *fakeAPI) watchNodes(w http.ResponseWriter, r *http.Request) {
	f.note("watch", "nodes")
	events := make(chan watch.Event, 1000)
	q := r.URL.Query()
	f.mu.Lock()
	initial := q.Get("sendInitialEvents") == "true"
	if initial && f.old {
		f.mu.Unlock()
		f.refuse(w, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "sendInitialEvents is forbidden")
		return
	}
	if at := q.Get("resourceVersion"); !initial && at != fmt.Sprint(f.version) {
		f.mu.Unlock()
		f.refuse(w, http.StatusGone, metav1.StatusReasonExpired, "too old resource version")
		return
	}
	if initial {
		for _, n := range f.nodes {
			events <- watch.Event{Type: watch.Added, Object: n}
		}
		events <- watch.Event{Type: watch.Bookmark, Object: &corev1.Node{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
			ObjectMeta: metav1.ObjectMeta{ResourceVersion: fmt.Sprint(f.version),
				Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}}}
	}
	f.watchers[events] = true
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		delete(f.watchers, events)
		f.mu.Unlock()
	}()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	flush := w.(http.Flusher)
	flush.Flush()
	for {
		select {
		case e := <-events:
			f.reply(w, metav1.WatchEvent{Type: string(e.Type), Object: runtime.RawExtension{Object: e.Object}})
			flush.Flush()
		case <-r.Context().Done():
			return
		}
	}
}

func (f *fakeAPI) patchNode(w http.ResponseWriter, r *http.Request) {
	f.note("patch", "nodes/status")
	patch, err := io.ReadAll(r.Body)
	if err != nil {
		f.t.Error(err)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.nodes[r.PathValue("name")]
	if n == nil {
		f.refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound, r.PathValue("name"))
		return
	}
	before, err := json.Marshal(n)
	if err != nil {
		f.t.Error(err)
		return
	}
	after, err := strategicpatch.StrategicMergePatch(before, patch, corev1.Node{})
	var out corev1.Node
	if err == nil {
		err = json.Unmarshal(after, &out)
	}
	if err != nil {
		f.refuse(w, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, err.Error())
		return
	}
	f.putLocked(&out)
	f.reply(w, f.nodes[n.Name])
}

// windowsNode is a Node as kubelet makes it, with what kube-controller-manager
// adds.
func windowsNode(name, address, podCIDR string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: "00000000-0000-0000-0000-000000000001", Labels: map[string]string{corev1.LabelOSStable: "windows"}},
		Spec:       corev1.NodeSpec{PodCIDR: podCIDR, PodCIDRs: []string{podCIDR}},
		Status:     corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}}},
	}
}

// linuxNode is a Node on which flanneld runs.
func linuxNode(name, address, podCIDR, mac string) *corev1.Node {
	n := windowsNode(name, address, podCIDR)
	n.UID = "00000000-0000-0000-0000-000000000002"
	n.Labels[corev1.LabelOSStable] = "linux"
	n.Annotations = map[string]string{
		"flannel.alpha.coreos.com/kube-subnet-manager": "true",
		"flannel.alpha.coreos.com/backend-type":        "vxlan",
		"flannel.alpha.coreos.com/backend-data":        `{"VNI":4096,"VtepMAC":"` + mac + `"}`,
		"flannel.alpha.coreos.com/public-ip":           address,
	}
	return n
}
