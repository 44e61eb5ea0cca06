package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

// TestMain lets a copy of this test binary stand in for a CNI plugin: under the
// name "puppet" it answers ADD with what the configuration's "answer" holds.
func TestMain(m *testing.M) {
	if strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe") == "puppet" {
		os.Exit(puppet())
	}
	os.Exit(m.Run())
}

func puppet() int {
	in, err := io.ReadAll(os.Stdin)
	if err != nil {
		return 2
	}
	var conf struct {
		CNIVersion string
		Answer     json.RawMessage
		Fail       json.RawMessage
		PrevResult json.RawMessage
		Log        string
	}
	if err := json.Unmarshal(in, &conf); err != nil {
		return 2
	}
	verb := os.Getenv("CNI_COMMAND")
	switch {
	case verb == "VERSION":
		fmt.Print(`{"cniVersion":"1.1.0","supportedVersions":["0.1.0","0.2.0","0.3.0","0.3.1","0.4.0","1.0.0","1.1.0"]}`)
	case conf.Fail != nil:
		fmt.Print(string(conf.Fail))
		return 1
	case verb == "ADD":
		fmt.Print(string(conf.Answer))
	case verb == "CHECK" && conf.PrevResult == nil:
		fmt.Print(`{"code":7,"msg":"no prevResult"}`)
		return 1
	}
	if conf.Log != "" {
		line := strings.Join([]string{verb, os.Getenv("CNI_CONTAINERID"), os.Getenv("CNI_NETNS"), os.Getenv("CNI_IFNAME"), os.Getenv("CNI_ARGS")}, " ")
		if err := os.WriteFile(conf.Log, []byte(line), 0o600); err != nil {
			return 2
		}
	}
	return 0
}

// pluginDir holds the puppet.
func pluginDir(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	name := "puppet"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if err := os.WriteFile(filepath.Join(dir, name), data, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func writeConf(t *testing.T, name string, conf map[string]any) string {
	t.Helper()
	data, err := json.Marshal(conf)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestAdd(t *testing.T) {
	dir := pluginDir(t)
	const eth0, host = `{"name":"eth0","mac":"00-15-5d-00-00-07","sandbox":"ns"}`, `{"name":"vEthernet","mac":"00-15-5d-00-00-01"}`
	tests := []struct {
		name    string
		version string
		answer  string
		podIP   string
		more    []string
		wantErr string
	}{
		{"address without an interface", "1.0.0", `{"cniVersion":"1.0.0","ips":[{"address":"10.50.3.7/24","gateway":"10.50.3.2"}]}`, "10.50.3.7", []string{}, ""},
		{"address on eth0", "1.0.0", `{"cniVersion":"1.0.0","interfaces":[` + host + `,` + eth0 + `],"ips":[{"interface":1,"address":"10.50.3.7/24"}]}`, "10.50.3.7", []string{}, ""},
		{"old result", "0.2.0", `{"cniVersion":"0.2.0","ip4":{"ip":"10.50.3.7/24"}}`, "10.50.3.7", []string{}, ""},
		{"IPv6 first", "1.1.0", `{"cniVersion":"1.1.0","ips":[{"address":"fd00:50:3::7/64"},{"address":"10.50.3.7/24"}]}`, "10.50.3.7", []string{"fd00:50:3::7"}, ""},
		{"IPv6 only", "1.1.0", `{"cniVersion":"1.1.0","ips":[{"address":"fd00:50:3::7/64"}]}`, "fd00:50:3::7", []string{}, ""},
		{"address on another interface", "1.0.0", `{"cniVersion":"1.0.0","interfaces":[` + host + `],"ips":[{"interface":0,"address":"10.50.3.7/24"}]}`, "", []string{}, "no address on eth0"},
		{"no address", "1.0.0", `{"cniVersion":"1.0.0"}`, "", []string{}, "no address on eth0"},
		{"interface index too large", "1.0.0", `{"cniVersion":"1.0.0","ips":[{"interface":3,"address":"10.50.3.7/24"}]}`, "", nil, "invalid interface config"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			conf := writeConf(t, "10-lake.conf", map[string]any{
				"cniVersion": tc.version, "name": "lake", "type": "puppet", "answer": json.RawMessage(tc.answer),
			})
			var out bytes.Buffer
			err := run(t.Context(), []string{"add", "-conf", conf, "-plugins", dir, "-id", "sbx-01", "-netns", "ns", "-cache", t.TempDir()}, &out, io.Discard)
			if tc.wantErr == "" && err != nil || tc.wantErr != "" && (err == nil || !strings.Contains(err.Error(), tc.wantErr)) {
				t.Fatalf("error %v, want %q", err, tc.wantErr)
			}
			if tc.more == nil {
				return // go-cni refused the result: nothing to print
			}
			var rep report
			if err := json.Unmarshal(out.Bytes(), &rep); err != nil {
				t.Fatalf("%v in %s", err, out.Bytes())
			}
			if rep.PodIP != tc.podIP || !reflect.DeepEqual(rep.AdditionalIPs, tc.more) || rep.PodInterface != "eth0" {
				t.Errorf("pod %s %s %v, want %s %v", rep.PodInterface, rep.PodIP, rep.AdditionalIPs, tc.podIP, tc.more)
			}
			if strings.Count(out.String(), "\n") != 1 {
				t.Errorf("want one line, got %s", out.String())
			}
		})
	}
}

// TestStory runs ADD, CHECK, DEL and CHECK as a runtime would, from a list.
func TestStory(t *testing.T) {
	dir, cache, log := pluginDir(t), t.TempDir(), filepath.Join(t.TempDir(), "log")
	conf := writeConf(t, "10-lake.conflist", map[string]any{
		"cniVersion": "1.0.0", "name": "lake", "plugins": []any{map[string]any{
			"type": "puppet", "log": log,
			"answer": json.RawMessage(`{"cniVersion":"1.0.0","ips":[{"address":"10.50.3.7/24"}]}`),
		}},
	})
	call := func(verb string) error {
		args := []string{verb, "-conf", conf, "-plugins", dir + "," + t.TempDir(), "-id", "sbx-01", "-netns", "ns-1", "-cache", cache, "-arg", "K8S_POD_NAME=web-0"}
		return run(t.Context(), args, io.Discard, io.Discard)
	}
	for _, verb := range []string{"add", "check", "del"} {
		if err := call(verb); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		want := strings.ToUpper(verb) + " sbx-01 ns-1 eth0 IgnoreUnknown=1;K8S_POD_INFRA_CONTAINER_ID=sbx-01;K8S_POD_NAME=web-0;K8S_POD_NAMESPACE=default;K8S_POD_UID=sbx-01"
		if string(got) != want {
			t.Errorf("plugin saw\n%s, want\n%s", got, want)
		}
	}
	if err := call("check"); err == nil {
		t.Error("check after del passed, although the cached result is gone")
	}
}

func TestPluginErrorHasItsCode(t *testing.T) {
	conf := writeConf(t, "lake.conf", map[string]any{
		"cniVersion": "1.0.0", "name": "lake", "type": "puppet", "fail": map[string]any{"code": 11, "msg": "HNS is stopped"},
	})
	err := run(t.Context(), []string{"add", "-conf", conf, "-plugins", pluginDir(t), "-id", "sbx-01", "-netns", "ns", "-cache", t.TempDir()}, io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "HNS is stopped") || !strings.Contains(err.Error(), "code 11") {
		t.Errorf("error %v, want the plugin's message and code", err)
	}
}

func TestBadCommandLines(t *testing.T) {
	tests := []struct {
		args []string
		want string
	}{
		{nil, "usage"},
		{[]string{"fly"}, "unknown verb"},
		{[]string{"gc"}, "gc: missing -conf, -plugins"},
		{[]string{"gc", "-valid", "pod-1"}, "want ID/IFNAME"},
		{[]string{"add"}, "missing -conf, -plugins, -id, -netns"},
		{[]string{"del", "-conf", "c", "-plugins", "p", "-id", "i", "-if", "lo"}, "want a prefix and 0"},
		{[]string{"add", "-cap", "dns"}, "want NAME=JSON"},
		{[]string{"add", "-arg", "x"}, "want KEY=VALUE"},
		{[]string{"del", "-conf", "does-not-exist", "-plugins", "p", "-id", "i", "-cache", "c"}, "does-not-exist"},
	}
	for _, tc := range tests {
		err := run(t.Context(), tc.args, io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v: error %v, want %q", tc.args, err, tc.want)
		}
	}
}
