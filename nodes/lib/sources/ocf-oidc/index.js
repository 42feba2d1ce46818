'use strict';

exports.Issuer = require('./issuer').Issuer;
exports.TokenSealer = require('./token-sealer').TokenSealer;
exports.OidcUsers = require('./oidc-users').OidcUsers;
