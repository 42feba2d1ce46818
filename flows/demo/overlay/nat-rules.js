'use strict';
// The NATs of npm run overlay -- --nat, as nftables rules (RFC 4787: mapping and filtering).

/** none: a public address. noudp: the router drops UDP. */
const KINDS = ['none', 'full', 'address', 'port', 'symmetric', 'noudp'];

/**
 * @param {string} kind of KINDS, not none
 * @param {string} inside address of the host behind the router, whose interfaces are lan and pub
 * @returns {string} for nft -f
 */
function rulesOf(kind, inside) {
  const mapping = kind === 'symmetric' ? 'masquerade fully-random' : 'masquerade persistent';
  /** @type {Record<string, string>} */
  const inwards = {
    full: `iif pub udp dport 1024-65535 dnat to ${inside}`,
    address: `iif pub udp dport . ip saddr @seen dnat to ${inside}`
  };
  /** @type {Record<string, string>} */
  const through = {
    address: 'meta l4proto udp iif lan update @seen { udp sport . ip daddr timeout 60s }',
    noudp: 'meta l4proto udp drop'
  };
  // The chain "local" drops what comes unasked before conntrack keeps it. Otherwise Linux gives the next mapping
  // another port, and a NAT of kind port becomes a symmetric one as soon as a packet of the other side was early.
  return `table ip seganet {
  set seen { type inet_service . ipv4_addr; flags dynamic, timeout; }
  chain inwards { type nat hook prerouting priority -100; ${inwards[kind] ?? ''}
  }
  chain outwards { type nat hook postrouting priority 100; oif pub ${mapping}
  }
  chain through { type filter hook forward priority 0; ${through[kind] ?? ''}
  }
  chain local { type filter hook input priority 0; iif pub meta l4proto udp drop
  }
}
`;
}

/** @param {string} address outside address of the peer @returns {string} rules that cut the direct path, both ways */
function cutTo(address) {
  return `table ip seganet-cut {
  chain forwarded { type filter hook forward priority -10; meta l4proto udp ip daddr ${address} drop
    meta l4proto udp ip saddr ${address} drop
  }
  chain sent { type filter hook output priority -10; meta l4proto udp ip daddr ${address} drop
  }
  chain taken { type filter hook input priority -10; meta l4proto udp ip saddr ${address} drop
  }
}
`;
}

module.exports = { KINDS, cutTo, rulesOf };
