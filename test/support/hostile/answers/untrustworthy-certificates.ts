/**
 * Certificates that no endpoint may be trusted by, each its own authority (so that nothing else is
 * wrong with it), for 127.0.0.1 and a hundred years where not said otherwise. Made by `openssl ca -selfsign`.
 */
export const EXPIRED_CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBgDCCASWgAwIBAgIBATAKBggqhkjOPQQDAjAfMR0wGwYDVQQDDBRHaG9zdCBE
ZWxpdmVyeSB0ZXN0czAeFw0yMDAxMDEwMDAwMDBaFw0yMDAyMDEwMDAwMDBaMB8x
HTAbBgNVBAMMFEdob3N0IERlbGl2ZXJ5IHRlc3RzMFkwEwYHKoZIzj0CAQYIKoZI
zj0DAQcDQgAEHyNtveKMd4IFzhod552YeuEb5gvcul8Pp5cqvSRlO/16h6vBpuwy
1gCI4vbG2kERpsAvsY7Y3tZ3BPIJ1ilceKNSMFAwDwYDVR0TAQH/BAUwAwEB/zAe
BgNVHREEFzAVgg0qLmV4YW1wbGUuY29thwR/AAABMB0GA1UdDgQWBBTUz1oXg860
CigPAKxq6YtXchVMrDAKBggqhkjOPQQDAgNJADBGAiEAw/nZiNqwrpJbKzPkQyoh
51HYnJoLHVm6WvuBY1+bL7wCIQDLkYyE1iaSdyx87FHB+/2Y9OtkdTT+RmgzQbQz
571uaw==
-----END CERTIFICATE-----
`;

/** For `other.example.net` alone. */
export const CERTIFICATE_OF_ANOTHER = `-----BEGIN CERTIFICATE-----
MIIBfjCCASWgAwIBAgIBAjAKBggqhkjOPQQDAjAfMR0wGwYDVQQDDBRHaG9zdCBE
ZWxpdmVyeSB0ZXN0czAgFw0yMDAxMDEwMDAwMDBaGA8yMTI1MDIwMTAwMDAwMFow
HzEdMBsGA1UEAwwUR2hvc3QgRGVsaXZlcnkgdGVzdHMwWTATBgcqhkjOPQIBBggq
hkjOPQMBBwNCAAQfI2294ox3ggXOGh3nnZh64RvmC9y6Xw+nlyq9JGU7/XqHq8Gm
7DLWAIji9sbaQRGmwC+xjtje1ncE8gnWKVx4o1AwTjAPBgNVHRMBAf8EBTADAQH/
MBwGA1UdEQQVMBOCEW90aGVyLmV4YW1wbGUubmV0MB0GA1UdDgQWBBTUz1oXg860
CigPAKxq6YtXchVMrDAKBggqhkjOPQQDAgNHADBEAiB5HW08jY2GSqYjCQVMd2Nv
b8CzykqOpqW+gF/YqwMk8wIgcLpYAPy0cgWHcmPZd0CcQuyKU9DEsr35OogBaAKG
kXA=
-----END CERTIFICATE-----
`;

/** The key of both: known to everyone, so it must never be trusted outside of tests. */
export const UNTRUSTWORTHY_KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQghcGHo4Mbz+FMNk61
4xswN/Lo2yANh5avXYk3GbrnrjehRANCAAQfI2294ox3ggXOGh3nnZh64RvmC9y6
Xw+nlyq9JGU7/XqHq8Gm7DLWAIji9sbaQRGmwC+xjtje1ncE8gnWKVx4
-----END PRIVATE KEY-----
`;
