// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Paymaster} from "../../../src/Paymaster.sol";
import {PaymasterTest} from "../PaymasterTest.sol";

contract AuthorizationNonceTest is PaymasterTest {
    function testFuzz_WhenTheSwapIsAnother(bytes32 id) external view {
        if (id == ID) id = OTHER_ID;
        _differs(paymaster.authorizationNonce(id, receiver, address(usdc)));
    }

    function testFuzz_WhenTheReceiverIsAnother(address other) external view {
        if (other == receiver) other = outsider;
        _differs(paymaster.authorizationNonce(ID, other, address(usdc)));
    }

    function testFuzz_WhenTheTokenIsAnother(address other) external view {
        if (other == address(usdc)) other = outsider;
        _differs(paymaster.authorizationNonce(ID, receiver, other));
    }

    function test_GivenAnotherPaymaster() external {
        Paymaster other = new Paymaster(owner, address(depository), _one(operator));
        _differs(other.authorizationNonce(ID, receiver, address(usdc)));
    }

    function testFuzz_GivenAnotherNetwork(uint64 chainId) external {
        bytes32 nonce = _nonce(_deposit(address(usdc), 1));
        vm.chainId(chainId == block.chainid || chainId == 0 ? 1 : chainId);
        assertTrue(paymaster.authorizationNonce(ID, receiver, address(usdc)) != nonce, "another nonce");
    }

    function test_GivenAPaymasterAtAKnownAddress() external {
        vm.chainId(31_337);
        vm.prank(0x1000000000000000000000000000000000000002);
        Paymaster known = new Paymaster(owner, address(depository), _one(operator));
        assertEq(address(known), 0x930141fd5E0cdf1F12987Dc153ec6aA5CbEdFde4);
        bytes32 nonce = known.authorizationNonce(
            ID, 0x1111111111111111111111111111111111111111, 0x2222222222222222222222222222222222222222
        );
        assertTrue(nonce == 0x0d39c97a5868e401e5a7cb115dfd22dfe18573ecbf13446cbcf5c8d65c046349, "nonce");
    }

    function _differs(bytes32 nonce) private view {
        assertTrue(nonce != _nonce(_deposit(address(usdc), 1)), "another nonce");
    }
}
