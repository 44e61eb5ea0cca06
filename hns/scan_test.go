package hns

import (
	"encoding/json"
	"testing"
)

// The scanner takes valid JSON apart as encoding/json does, which is its model.
func FuzzScan(f *testing.F) {
	for _, s := range []string{
		`{}`, `[]`, ` { "a" : 1 , "B":[1,2,{"c":"}"}],"d":"x\"y,]" } `, `[1 ,"a,b", [ ] ,{"x":[{}]}, null,true , -1.5e3]`, `{"a":"\\"}`, `["\\\"",""]`,
		`{"\u0061":1}`, `{"ä":1}`, `{"a":1,"A":2}`, `{"a":1,"a":2}`, `"text"`, `12`, `null`, "\t[\r\n1\n]", `{"":""}`, `{"a":{"a":{"a":[[[]]]}}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, v []byte) {
		if !json.Valid(v) {
			return
		}
		var list []json.RawMessage
		isList := json.Unmarshal(v, &list) == nil && list != nil
		var got []json.RawMessage
		if eachElement(v, func(e []byte) { got = append(got, e) }) != isList || len(got) != len(list) {
			t.Fatalf("%s: %d elements, want %d of a list: %v", v, len(got), len(list), isList)
		}
		for i := range got {
			if string(got[i]) != string(list[i]) {
				t.Errorf("%s: element %d is %s, want %s", v, i, got[i], list[i])
			}
		}
		var object map[string]json.RawMessage
		isObject := json.Unmarshal(v, &object) == nil && object != nil
		ms, ok := membersOf(v)
		if !ok { // left to encoding/json
			return
		}
		if !isObject || len(ms) != len(object) {
			t.Fatalf("%s: %d members, want %d of an object: %v", v, len(ms), len(object), isObject)
		}
		for _, m := range ms {
			if want, ok := object[string(m.name)]; !ok || string(want) != string(m.value) {
				t.Errorf("%s: member %s is %s, want %s", v, m.name, m.value, want)
			}
			if string(ms.get(string(m.name))) != string(m.value) {
				t.Errorf("%s: member %s is not found", v, m.name)
			}
		}
		var s string
		if err := json.Unmarshal(v, &s); err == nil {
			if got, ok := text(v); !ok || got != s {
				t.Errorf("%s: text %q %v", v, got, ok)
			}
		} else if got, ok := text(v); ok {
			t.Errorf("%s: taken for the text %q", v, got)
		}
	})
}

// Names with escapes, and two that are one, are left to encoding/json, and so is
// what has very many.
func TestMembersOf(t *testing.T) {
	many := `{"a":1`
	for i := range mostMembers {
		many += `,"b` + string(rune('0'+i%10)) + string(rune('0'+i/10)) + `":1`
	}
	for doc, want := range map[string]bool{
		`{"a":1,"b":{"A":2}}`: true, `{}`: true, `{"a":1,"A":2}`: false, `{"\u0061":1}`: false, `{"ß":1}`: false, `[]`: false, `1`: false, many + "}": false,
	} {
		if _, ok := membersOf([]byte(doc)); ok != want {
			t.Errorf("%s: %v", doc, ok)
		}
	}
}

// What calls cost, in allocations: a reader that copies every level of a document
// again shows here.
func TestDecodeCost(t *testing.T) {
	doc := []byte(`{"ID":"2B000000-0000-4000-8000-0000000000AB","Name":"x","HostComputeNetwork":"1a000000-0000-4000-8000-000000000001",` +
		`"IpConfigurations":[{"IpAddress":"10.50.3.7","PrefixLength":24}],"Routes":[{"NextHop":"10.50.3.2","DestinationPrefix":"0.0.0.0/0"}],` +
		`"MacAddress":"00-15-5D-10-BE-47","Policies":[{"Type":"OutBoundNAT","Settings":{"Exceptions":["10.50.0.0/16"]}}]}`)
	const most = 60
	if got := testing.AllocsPerRun(20, func() {
		if _, err := DecodeEndpoint(doc); err != nil {
			t.Error(err)
		}
	}); got > most {
		t.Errorf("%.0f allocations, want at most %d", got, most)
	}
}
