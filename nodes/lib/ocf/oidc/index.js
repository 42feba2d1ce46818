'use strict';

exports.AccessTokens = require('./access-tokens').AccessTokens;
exports.Issuer = require('./issuer').Issuer;
exports.TokenSealer = require('./token-sealer').TokenSealer;
exports.OidcUsers = require('./oidc-users').OidcUsers;
