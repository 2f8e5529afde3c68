/**
 * A certificate for tests alone, its own authority: `*.example.com` and 127.0.0.1, for a hundred
 * years. Made by `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes`.
 */
export const TEST_CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBtTCCAVugAwIBAgIUC5zJAdENpVdpgmajcLBRc5ePyX8wCgYIKoZIzj0EAwIw
HzEdMBsGA1UEAwwUR2hvc3QgRGVsaXZlcnkgdGVzdHMwIBcNMjYxMTI5MTkxNzIy
WhgPMjEyNjExMDUxOTE3MjJaMB8xHTAbBgNVBAMMFEdob3N0IERlbGl2ZXJ5IHRl
c3RzMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEWSBD9z2XT43X+gVTun3wzXaZ
v5RlPvjcGHItGwv0LcRdXsYWDj/OxvmvdTTuwdSCQhpi5v5kA6pMi7H8voT/lqNz
MHEwHQYDVR0OBBYEFCEb41te9QdUQb9NsspO4JMSq50UMB8GA1UdIwQYMBaAFCEb
41te9QdUQb9NsspO4JMSq50UMA8GA1UdEwEB/wQFMAMBAf8wHgYDVR0RBBcwFYIN
Ki5leGFtcGxlLmNvbYcEfwAAATAKBggqhkjOPQQDAgNIADBFAiEA151xjAG8gzSR
xwXbmBxa6oHZRtRGdAVW0a8A5Rq9zosCIFGHP0NLAYiuUKsOUwoVFnLW34IZA+e5
lzp0TjsyLKPc
-----END CERTIFICATE-----
`;

/** Its key: known to everyone, so it must never be trusted outside of tests. */
export const TEST_CERTIFICATE_KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgdUme4QmgwLI49FP7
31HVk3eTacqJv7xjvWNg528Ne0+hRANCAARZIEP3PZdPjdf6BVO6ffDNdpm/lGU+
+NwYci0bC/QtxF1exhYOP87G+a91NO7B1IJCGmLm/mQDqkyLsfy+hP+W
-----END PRIVATE KEY-----
`;
